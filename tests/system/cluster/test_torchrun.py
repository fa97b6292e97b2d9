"""Debian's own torchrun over two workers: ranks meet, see what they should, the first that fails is
named. Its release 1.13 crashes on Python 3.11 unless it is given -r 1 -t 1."""
import json
import os
import shutil
import subprocess
import unittest

from cluster import Cluster

PYTHON = "/usr/bin/python3"
TORCHRUN = shutil.which("torchrun")
NEEDED = ["-r", "1", "-t", "1"]  # Standard output of every rank goes to a file and to ours.

REDUCE = """
import json, os, sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(total)
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_PORT",
         "TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS", "CUDA_VISIBLE_DEVICES",
         "MUSTER_NODE_NAME", "MUSTER_JOB_ID")
seen = {name: os.environ.get(name) for name in names}
seen.update(total=int(total.item()), world=dist.get_world_size(), words=sys.argv[1:])
with open(f"rank-{os.environ['MUSTER_JOB_ID']}-{dist.get_rank()}.json", "w") as file:
    json.dump(seen, file)
dist.barrier()
"""

FAIL = """
import os, time
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    if os.environ["RANK"] == "2":
        raise RuntimeError("the disk of rank 2 is \\033[31mfull")
    time.sleep(10)

main()
"""


def has_torch():
    if TORCHRUN is None:
        return False
    tried = subprocess.run([PYTHON, "-c", "import torch.distributed.run"], capture_output=True)
    return tried.returncode == 0


@unittest.skipUnless(has_torch(), "needs torchrun (python3-torch)")
class Torchrun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(gpus=2, database=False).start()
        for name, text in (("reduce.py", REDUCE), ("fail.py", FAIL)):
            cls.cluster.script(name, f"#!{PYTHON}\n{text}")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def submit(self, *words):
        # gloo takes the address that the host's name has; here all of it is loopback.
        return self.cluster.submit("--env", "GLOO_SOCKET_IFNAME=lo", *words)

    def ended(self, job, seconds=120):
        reply = self.cluster.wait_end(job, seconds=seconds)
        try:
            log = self.cluster.read(f"muster-{job}.out")
        except OSError:
            log = "(no output)"
        return reply, f"{reply}\n{log}"

    def ranks(self, job, count):
        seen = []
        for rank in range(count):
            with open(os.path.join(self.cluster.home, f"rank-{job}-{rank}.json")) as file:
                seen.append(json.load(file))
        return seen

    def test_ranks_of_two_nodes_meet(self):
        job = self.submit(
            "--nodes",
            "2",
            "--gpus-per-node",
            "2",
            "--launch",
            "torchrun",
            "--",
            *NEEDED,
            "reduce.py",
            "--lr",
            "0.1",
        )
        reply, shown = self.ended(job)
        self.assertEqual(reply["cause"]["kind"], "completed", shown)
        seen = self.ranks(job, 4)
        self.assertEqual([each["total"] for each in seen], [1 + 2 + 3 + 4] * 4)
        self.assertEqual([each["RANK"] for each in seen], ["0", "1", "2", "3"])
        self.assertEqual(sorted(each["LOCAL_RANK"] for each in seen), ["0", "0", "1", "1"])
        self.assertEqual(len({each["MASTER_PORT"] for each in seen}), 1)
        for each in seen:
            self.assertEqual(each["world"], 4)
            self.assertEqual(each["WORLD_SIZE"], "4")
            self.assertEqual(each["LOCAL_WORLD_SIZE"], "2")
            self.assertEqual(each["TORCHELASTIC_RUN_ID"], f"{job}.1")
            self.assertEqual(each["TORCHELASTIC_MAX_RESTARTS"], "0")
            self.assertEqual(each["MUSTER_JOB_ID"], str(job))
            self.assertEqual(each["words"], ["--lr", "0.1"])
            self.assertEqual(len(each["CUDA_VISIBLE_DEVICES"].split(",")), 2)
        for node in self.cluster.nodes:
            local = [each["LOCAL_RANK"] for each in seen if each["MUSTER_NODE_NAME"] == node]
            self.assertEqual(sorted(local), ["0", "1"])

    def test_the_first_failing_rank_is_named(self):
        job = self.submit(
            "--nodes", "2", "--gpus-per-node", "2", "--launch", "torchrun", "--", *NEEDED, "fail.py"
        )
        reply, shown = self.ended(job)
        self.assertEqual(reply["cause"]["kind"], "exited", shown)
        self.assertIn("the disk of rank 2 is", json.dumps(reply["cause"]), shown)
        text = self.cluster.command("gpuqueue", str(job)).stdout
        self.assertIn("the disk of rank 2 is", text)
        self.assertNotIn("\033[31mfull", text)
        self.assertEqual(self.cluster.processes_of_jobs(), [])

    def test_standalone_in_a_script(self):
        script = self.cluster.script(
            "alone.sh",
            "#!/bin/bash\n#GPU --gpus 2\n"
            f"{TORCHRUN} --standalone --nproc_per_node 2 {' '.join(NEEDED)} reduce.py\n",
        )
        job = self.submit(script)
        reply, shown = self.ended(job)
        self.assertEqual(reply["cause"]["kind"], "completed", shown)
        seen = self.ranks(job, 2)
        self.assertEqual([each["total"] for each in seen], [3, 3])
        self.assertEqual([each["WORLD_SIZE"] for each in seen], ["2", "2"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
