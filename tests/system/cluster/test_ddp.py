"""The example: PyTorch DistributedDataParallel over two nodes; a rank killed in mid-run costs at
most ten steps."""
import os
import re
import shutil
import signal
import unittest

from cluster import SOURCE, Cluster, wait_for


class Ddp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start()
        for name in ("train.py", "train.sh"):
            shutil.copy(os.path.join(SOURCE, "contrib/examples/ddp", name), cls.cluster.home)
            os.chmod(os.path.join(cls.cluster.home, name), 0o755)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def test_a_killed_rank_resumes_from_the_checkpoint(self):
        c = self.cluster
        job = c.submit("train.sh", "--pause", "0.05", "--checkpoints", "saved")
        c.wait_state(job, "running", seconds=60)
        log = os.path.join(c.home, f"muster-{job}.out")

        def reached_step_50():
            if not os.path.exists(log):
                return False
            steps = [int(step) for step in re.findall(r"step +(\d+)", c.read(f"muster-{job}.out"))]
            return steps and max(steps) >= 50

        wait_for(reached_step_50, 120, "step 50")
        ranks = [pid for pid in c.processes_of_jobs() if self.rank_of(pid) == "3"]
        self.assertTrue(ranks, "no process of rank 3")
        os.kill(ranks[0], signal.SIGKILL)
        reply = c.wait_end(job, seconds=180)
        self.assertEqual(reply["cause"]["kind"], "completed", reply)
        self.assertEqual(reply["row"]["attempt"], 2)
        text = c.read(f"muster-{job}.out")
        resumed = re.search(r"resum\w* (?:from|at) step (\d+)", text)
        self.assertIsNotNone(resumed, text)
        self.assertGreaterEqual(int(resumed.group(1)), 40)
        rows = wait_for(
            lambda: [row for row in c.accounting(job) if row["state"] == "ended"],
            20,
            "accounting rows",
        )
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["attempts"], 2)

    @staticmethod
    def rank_of(pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                for word in file.read().split(b"\0"):
                    if word.startswith(b"RANK="):
                        return word[5:].decode()
        except OSError:
            pass
        return None


if __name__ == "__main__":
    unittest.main(verbosity=2)
