#!/usr/bin/env python3
"""Trains a small network with DistributedDataParallel and survives being stopped.

The data are handwritten-digit-like pictures, 16x16 pixels: ten glyphs, shifted, stretched,
blurred and covered with noise, always the same for the same seed. At most 200 steps bring the
loss under a tenth of what it was at first; the program checks that itself and exits with 1
otherwise. Every 10 steps rank 0 writes a checkpoint (a new file, renamed over the old one); a
later attempt goes on from there.

It needs what torch.distributed needs (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK), as
`--launch tasks` sets it, and PyTorch. With CUDA a rank uses the GPU of its LOCAL_RANK, otherwise
the CPU.
"""

import argparse
import os
import signal
import sys
import time

try:
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
except ImportError as missing:
    sys.exit(
        f"train.py: {sys.executable} cannot import PyTorch ({missing}); "
        "install python3-torch or set MUSTER_PYTHON"
    )

GLYPHS = """
01110 00100 01110 11111 00010 11111 00110 11111 01110 01110
10001 01100 10001 00010 00110 10000 01000 00001 10001 10001
10011 00100 00001 00100 01010 11110 10000 00010 10001 10001
10101 00100 00010 00010 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100
"""
SIDE = 16
BATCH = 64  # Per rank.


def digits():
    """The ten glyphs as one tensor of 10 x 7 x 5."""
    rows = [line.split() for line in GLYPHS.split("\n") if line]
    return torch.tensor(
        [[[float(bit) for bit in row[digit]] for row in rows] for digit in range(10)]
    )


def pictures(glyphs, count, seed):
    """`count` pictures and their labels; the same for the same seed on every machine."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=random)
    out = torch.zeros(count, 1, SIDE, SIDE)
    heights = torch.randint(9, 15, (count,), generator=random)
    widths = torch.randint(6, 13, (count,), generator=random)
    tops = torch.rand(count, generator=random)
    lefts = torch.rand(count, generator=random)
    for i in range(count):
        height, width = int(heights[i]), int(widths[i])
        glyph = torch.nn.functional.interpolate(
            glyphs[labels[i]][None, None], (height, width), mode="bilinear", align_corners=False
        )[0, 0]
        top, left = int(tops[i] * (SIDE - height)), int(lefts[i] * (SIDE - width))
        out[i, 0, top : top + height, left : left + width] = glyph
    return out + 0.15 * torch.randn(out.shape, generator=random), labels


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 12, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(12, 24, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(24 * (SIDE // 4) ** 2, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def save(path, state):
    """Either the old checkpoint or the new one is there, whatever happens meanwhile."""
    new = path + ".new"
    with open(new, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(new, path)


def load(path, rank):
    """What rank 0 finds, on every rank: only rank 0's node needs the file."""
    found = [torch.load(path, map_location="cpu") if rank == 0 and os.path.exists(path) else None]
    dist.broadcast_object_list(found, src=0)
    return found[0]


def arguments():
    job = os.environ.get("MUSTER_JOB_ID", "local")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=160, help="steps in all, at most 200")
    parser.add_argument(
        "--checkpoints",
        metavar="DIR",
        default=os.environ.get("CHECKPOINT_DIR", os.path.join("checkpoints", f"job-{job}")),
    )
    parser.add_argument(
        "--pause", type=float, default=0.0, metavar="SECONDS", help="wait after every step"
    )
    parser.add_argument(
        "--die-at-step", type=int, default=0, metavar="N", help="for tests: on the first attempt …"
    )
    parser.add_argument(
        "--die-rank", type=int, default=1, metavar="R", help="… rank R kills itself at step N"
    )
    options = parser.parse_args()
    if not 1 <= options.steps <= 200:
        parser.error("--steps must be 1 to 200")
    return options


class Training:
    def __init__(self, options):
        self.options = options
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        local = int(os.environ.get("LOCAL_RANK", "0"))
        self.device = (
            torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
        )
        torch.manual_seed(1)  # The same weights on every rank; DDP would see to it as well.
        self.model = DistributedDataParallel(network().to(self.device))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.path = os.path.join(options.checkpoints, "checkpoint.pt")
        self.step, self.first_loss = 0, None
        self.glyphs = digits()

    def resume(self):
        if self.rank == 0:
            os.makedirs(self.options.checkpoints, exist_ok=True)
        state = load(self.path, self.rank)
        if state is None:
            return
        self.model.module.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.first_loss = state["step"], state["first_loss"]
        self.say(f"resumed from step {self.step} of {self.path}")

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def mean(self, value):
        total = value.detach().clone()
        dist.all_reduce(total)
        return float(total) / self.world

    def run_step(self):
        self.step += 1
        images, labels = pictures(self.glyphs, BATCH, seed=self.step * 1000 + self.rank)
        loss = torch.nn.functional.cross_entropy(
            self.model(images.to(self.device)), labels.to(self.device)
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return self.mean(loss)

    def die_if_asked(self):
        first = os.environ.get("MUSTER_ATTEMPT", "1") == "1"
        if first and self.step == self.options.die_at_step and self.rank == self.options.die_rank:
            print(f"rank {self.rank} kills itself at step {self.step}, as asked", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    def checkpoint(self):
        if self.rank == 0:
            save(
                self.path,
                {
                    "model": self.model.module.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "step": self.step,
                    "first_loss": self.first_loss,
                },
            )

    def run(self):
        began = time.monotonic()
        while self.step < self.options.steps:
            loss = self.run_step()
            self.first_loss = self.first_loss or loss
            if self.step % 10 == 0 or self.step == 1:
                self.say(
                    f"step {self.step:3d}/{self.options.steps}  loss {loss:.4f}  "
                    f"{time.monotonic() - began:5.1f} s"
                )
            if self.step % 10 == 0:
                self.checkpoint()
            self.die_if_asked()
            time.sleep(self.options.pause)

    def examine(self):
        """Loss on pictures that nobody has trained on, and the share of right answers."""
        self.model.eval()
        with torch.no_grad():
            images, labels = pictures(self.glyphs, 4 * BATCH, seed=7 + self.rank)
            answers = self.model.module(images.to(self.device)).cpu()
            loss = self.mean(torch.nn.functional.cross_entropy(answers, labels))
            right = self.mean((answers.argmax(1) == labels).float().mean())
        return loss, right


def main():
    options = arguments()
    torch.set_num_threads(1)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    training = Training(options)
    training.say(
        f"{training.world} ranks, attempt {os.environ.get('MUSTER_ATTEMPT', '1')}, "
        f"rank 0 on {training.device}, "
        f"GPUs of this node: {os.environ.get('CUDA_VISIBLE_DEVICES', 'none')}"
    )
    training.resume()
    training.run()
    loss, right = training.examine()
    first = training.first_loss or float("inf")
    training.say(
        f"first loss {first:.4f}, now {loss:.4f} ({100 * loss / first:.1f} %), "
        f"{100 * right:.1f} % right"
    )
    code = 0
    if loss >= first / 10:
        training.say("train.py: the loss did not fall under a tenth of the first")
        code = 1
    dist.barrier()
    sys.stdout.flush()
    os._exit(
        code
    )  # PyTorch 1.13 now and then hangs when it takes a gloo group down; nothing is left to save.


if __name__ == "__main__":
    main()
