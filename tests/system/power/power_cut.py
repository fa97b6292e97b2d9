# F05: power cuts under load. Every acknowledged record and blob must be there after each; a writer
# that never syncs must be caught.
#   power_cut.py WRITER UNSYNCED_WRITER [CUTS] [SEED]
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

import loop_disk

CUTS_PER_STATE = 4  # Then a new journal, so that checking stays quick.


def acked_in(path):
    try:
        with open(path, "rb") as file:
            return struct.unpack("<Q", file.read(8))[0]
    except (OSError, struct.error):
        return 0


def stop(process):
    """The writer finds its disk gone and ends by itself, or is ended after a second."""
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def start_afresh(disk):
    shutil.rmtree(os.path.join(disk.path, "state"), ignore_errors=True)
    acked = os.path.join(disk.scratch, "acked")
    if os.path.exists(acked):
        os.unlink(acked)


def cut_once(disk, writer, seconds):
    """Writes for a while, cuts the power, mounts again.

    Returns (acknowledged, check's exit status, its words)."""
    state = os.path.join(disk.path, "state")
    acked = os.path.join(disk.scratch, "acked")
    promised = os.path.join(disk.scratch, "promised")
    before = acked_in(acked)
    process = subprocess.Popen([writer, "write", state, acked, "0"], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while acked_in(acked) == before and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.005)
    time.sleep(seconds)
    # What counts is what was acknowledged before the cut. This process lives on after it, as none
    # does without power, and a sync in the middle of the shutdown may be told a false success.
    shutil.copyfile(acked, promised)
    disk.cut_power()
    stop(process)
    disk.umount()
    disk.mount()
    check = subprocess.run([writer, "check", state, promised], capture_output=True, text=True)
    return acked_in(promised), check.returncode, (check.stdout + check.stderr).strip()


def main():
    loop_disk.enter_own_namespace()
    writer, unsynced = sys.argv[1:3]
    cuts = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(1 << 32)
    reason = loop_disk.why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return loop_disk.SKIPPED
    print(f"seed {seed}")
    chance = random.Random(seed)
    with loop_disk.LoopDisk(1024) as disk:
        torn = last = total = 0
        for cut in range(1, cuts + 1):
            if cut % CUTS_PER_STATE == 1:
                start_afresh(disk)
                last = 0
            acked, status, words = cut_once(disk, writer, chance.uniform(0.0, 0.15))
            torn += " torn" in words
            if status != 0:
                print(f"FAILED at cut {cut}: {words}")
                return 1
            if acked <= last:
                print(f"FAILED at cut {cut}: the writer wrote nothing (acked {acked})")
                return 1
            total += acked - last
            last = acked
        print(f"{cuts} cuts, {total} records acknowledged, 0 lost, {torn} torn tails cut")
    with loop_disk.LoopDisk(256) as disk:
        acked, status, words = cut_once(disk, unsynced, 0.2)
        if acked == 0:
            print(f"FAILED: the writer without sync wrote nothing: {words}")
            return 1
        if status == 0:
            print(f"FAILED: a writer that never syncs was not caught: {words}")
            return 1
        print(f"a writer that never syncs is caught: {words.splitlines()[-1]}")
    return 0


sys.exit(main())
