"""What a rank wrote into no file of the user's is shown by gpulogs after the job has ended."""
import unittest

from cluster import Cluster, wait_for

SCRIPT = "#!/bin/bash\necho rank $RANK says so\necho rank $RANK complains >&2\n"


class KeptLogs(unittest.TestCase):
    def test_output_of_the_second_node_outlives_the_job_and_the_launcher(self):
        with Cluster(database=False) as c:
            script = c.script("talk.sh", SCRIPT)
            job = c.submit("--nodes", "2", "--gpus-per-node", "1", "--launch", "tasks", script)
            c.wait_end(job)
            wait_for(lambda: not c.attempts_left(), 20, "the nodes to forget the attempt")
            # Two nodes never write one file: the first wrote it, the second has nothing there.
            self.assertNotIn("rank 1", c.read(f"muster-{job}.out"))
            said = ["rank 1 says so", "rank 1 complains"]
            self.assertEqual(self.log(c, job), said)
            c.daemons["n2.launcher"].restart()
            c.daemons["n2"].restart()
            wait_for(c.all_connected, 30, "the worker to be back")
            self.assertEqual(self.log(c, job), said)

    def log(self, c, job):
        return c.command("gpulogs", "--node", "n2", str(job)).stdout.splitlines()


if __name__ == "__main__":
    unittest.main(verbosity=2)
