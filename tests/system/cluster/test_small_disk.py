"""A full state disk under the real controller: submits are refused, cancel still works, what runs
ends and is recorded, and all is normal again when there is space."""
import os
import subprocess
import sys
import unittest

from cluster import IS_ROOT, Cluster, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "power"))
import loop_disk  # noqa: E402

MEBIBYTE = 1 << 20


class SmallDiskCluster(Cluster):
    """The controller's state lies on a tmpfs of its own."""

    def start(self):
        os.mkdir(self.path("controller"), 0o700)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", self.path("controller")],
            check=True,
        )
        return super().start()

    def stop(self):
        super().stop()
        subprocess.run(["umount", "-l", self.path("controller")], check=False)

    def fill(self):
        with open(self.path("controller", "ballast"), "wb") as file:
            for size in (MEBIBYTE, 4096):
                try:
                    while True:
                        os.write(file.fileno(), b"b" * size)
                except OSError:
                    pass

    def empty(self):
        os.unlink(self.path("controller", "ballast"))


@unittest.skipUnless(IS_ROOT, "needs root to mount a tmpfs")
class SmallDisk(unittest.TestCase):
    def test_submit_is_refused_and_cancel_works(self):
        with SmallDiskCluster() as c:
            running = c.submit("--", "sleep", "300")
            ending = c.submit("--", "sleep", "6")
            held = c.submit("--hold", "--", "true")
            for job in (running, ending):
                c.wait_state(job, "running")
            c.fill()
            refused = wait_for(lambda: self.refusal(c), 10, "a submit to be refused")
            self.assertIn("state disk is full; nothing was queued", refused.stderr)
            self.assertEqual(refused.returncode, 68, refused.stderr)
            self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
            before = c.json("gpuqueue", "--all", "--ended", user="root")["rows"]
            self.assertIsNotNone(self.refusal(c))
            after = c.json("gpuqueue", "--all", "--ended", user="root")["rows"]
            self.assertEqual(len(after), len(before))
            for job in (running, held):
                c.command("gpucancel", str(job))
                self.assertEqual(c.wait_end(job)["cause"]["kind"], "cancelled")
            self.assertEqual(c.wait_end(ending)["cause"]["kind"], "completed")
            c.daemons["controller"].restart()  # On the full disk, too.
            self.assertEqual(c.job(ending)["row"]["state"], "ended")
            c.empty()
            after = wait_for(lambda: self.accepted(c), 5, "a submit to be taken again")
            self.assertEqual(c.wait_end(after)["cause"]["kind"], "completed")

    @staticmethod
    def refusal(c):
        result = c.command("gpusubmit", "--timeout", "1", "--", "true", check=False)
        if result.returncode == 0:  # Not noticed yet.
            c.command("gpucancel", result.stdout.split()[-1], check=False)
            return None
        return result

    @staticmethod
    def accepted(c):
        result = c.command("gpusubmit", "--parsable", "--timeout", "1", "--", "true", check=False)
        return int(result.stdout) if result.returncode == 0 else None


if __name__ == "__main__":
    loop_disk.enter_own_namespace()
    unittest.main(verbosity=2)
