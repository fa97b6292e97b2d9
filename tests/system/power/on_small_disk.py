# Runs a program with MUSTER_TEST_SMALL_DISK set to a 24 MiB ext4 of its own.
#   on_small_disk.py PROGRAM
import os
import subprocess
import sys

import loop_disk

loop_disk.enter_own_namespace()
reason = loop_disk.why_not()
if reason is not None:
    print(f"skipped: {reason}")
    sys.exit(loop_disk.SKIPPED)
with loop_disk.LoopDisk(24) as disk:
    environment = dict(os.environ, MUSTER_TEST_SMALL_DISK=disk.path)
    status = subprocess.run(sys.argv[1:], env=environment).returncode
sys.exit(status)
