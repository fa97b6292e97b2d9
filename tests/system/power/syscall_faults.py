# F02 and F07: the writer is killed before its Nth system call of each kind, for every N; and its
# syncs and writes fail. Nothing acknowledged may be missing afterwards; after a failed sync the
# process ends at once, acknowledges nothing more and never syncs that descriptor again.
#   syscall_faults.py WRITER kill|sync
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

CALLS = ["pwrite64", "fdatasync", "fsync", "fallocate", "rename", "ftruncate", "unlink"]
RECORDS = 60
SKIPPED = 77


class Run:
    """A state directory with some records in it, and one run of the writer under strace."""

    def __init__(self, writer, scratch):
        self.writer = writer
        self.base = os.path.join(scratch, "base")
        self.state = os.path.join(scratch, "state")
        self.acked = os.path.join(scratch, "acked")
        self.log = os.path.join(scratch, "strace")
        if not os.path.exists(self.base):
            subprocess.run([writer, "write", self.base, self.acked, "12"], check=True)
            shutil.copyfile(self.acked, self.base + ".acked")
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.copytree(self.base, self.state)
        shutil.copyfile(self.base + ".acked", self.acked)

    def write_under(self, injection, traced):
        command = ["strace", "-f", "-qq", "-ttt", "-o", self.log, "-e", "trace=" + traced,
                   "-e", "inject=" + injection,
                   self.writer, "write", self.state, self.acked, str(RECORDS)]
        # Where the address sanitizer is in, its leak check cannot run under ptrace.
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def check(self):
        result = subprocess.run([self.writer, "check", self.state, self.acked],
                                capture_output=True, text=True)
        return result.returncode == 0, (result.stdout + result.stderr).strip()

    def acked_seq(self):
        with open(self.acked, "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]


def kill_everywhere(writer, scratch):
    points = 0
    for call in CALLS:
        for number in range(1, 200):
            run = Run(writer, scratch)
            result = run.write_under(f"{call}:signal=SIGKILL:when={number}", call)
            is_good, words = run.check()
            if not is_good:
                return f"killed before {call} number {number}: {words}"
            if result.returncode == 0:
                break
            points += 1
        else:
            return f"{call}: no end"
    print(f"{points} kills, nothing acknowledged was lost")
    return None if points > 80 else f"only {points} kills: the faults did not arrive"


CALL = re.compile(r"^\d+ +([0-9.]+) +(fdatasync|fsync)\((\d+)\) += +(.*)$")


def judge_failed_sync(run, result, what):
    """None, or what is wrong."""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    if result.returncode == 0:
        return f"{what}: the writer went on"
    if len(lines) != 1 or "Input/output error" not in lines[0]:
        return f"{what}: one line was expected: {result.stderr}"
    failed = {}
    with open(run.log) as log:
        for line in log:
            match = CALL.match(line)
            if match is None:
                continue
            at, _, descriptor, outcome = match.groups()
            if descriptor in failed:
                return f"{what}: descriptor {descriptor} was synced again after it failed"
            if "EIO" in outcome:
                failed[descriptor] = float(at)
    if not failed:
        return f"{what}: the fault did not arrive"
    if time.time() - min(failed.values()) > 1.0:
        return f"{what}: the writer took {time.time() - min(failed.values()):.1f} s to end"
    return None


def fail_syncs(writer, scratch):
    points = 0
    for call in ("fdatasync", "fsync"):
        for number in range(1, 100):
            is_past_the_end = False
            for persistence in ("", "+") if number % 5 == 1 else ("",):
                run = Run(writer, scratch)
                what = f"{call} number {number}{persistence} fails"
                result = run.write_under(f"{call}:error=EIO:when={number}{persistence}",
                                         "fdatasync,fsync")
                if result.returncode == 0 and not has_fault(run):
                    is_past_the_end = True
                    break
                wrong = judge_failed_sync(run, result, what)
                is_good, words = run.check()
                if wrong is not None or not is_good:
                    return wrong or f"{what}: {words}"
                points += 1
            if is_past_the_end:
                break
    run = Run(writer, scratch)
    acked = run.acked_seq()
    run.write_under("fdatasync:error=EIO:when=1+", "fdatasync,fsync")
    if run.acked_seq() != acked:
        return f"acknowledged {run.acked_seq()} though no sync succeeded after {acked}"
    result = run.write_under("pwrite64:error=EIO:when=5", "pwrite64")
    if result.returncode == 0 or "Input/output error" not in result.stderr:
        return f"a failed write did not end the writer: {result.stderr}"
    print(f"{points} failed syncs, each ended the writer at once")
    return None if points > 20 else f"only {points} failed syncs: the faults did not arrive"


def has_fault(run):
    with open(run.log) as log:
        return "EIO" in log.read()


def main():
    writer, kind = sys.argv[1:3]
    if shutil.which("strace") is None:
        print("skipped: strace is not installed")
        return SKIPPED
    probe = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        print(f"skipped: strace may not trace here: {probe.stderr.strip()}")
        return SKIPPED
    scratch = tempfile.mkdtemp(prefix="muster-faults-")
    try:
        wrong = {"kill": kill_everywhere, "sync": fail_syncs}[kind](writer, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if wrong is not None:
        print("FAILED: " + wrong)
        return 1
    return 0


sys.exit(main())
