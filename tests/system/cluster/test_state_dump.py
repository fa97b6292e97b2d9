"""gpuadmin state dump beside a running controller, and gpusim state of what it wrote."""
import json
import os
import subprocess
import unittest

from cluster import BIN, Cluster


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


class StateDump(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=2, database=False).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def test_says_when_the_waiting_start(self):
        submit = self.cluster.submit
        running = submit("--gpus", "2", "--time", "1h", "--", "sleep", "600")
        self.cluster.wait_state(running, "running")
        waiting = submit("--gpus", "1", "--time", "1h", "--", "true")
        dump = self.cluster.path("now.dump")
        state = self.cluster.path("controller")
        gateway = ("--gateway", self.cluster.gateway_socket)
        made = run(os.path.join(BIN, "gpuadmin"), "state", "dump", *gateway, state, dump)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("2 jobs", made.stdout)
        self.assertEqual(made.stderr, "")
        journal = run(os.path.join(BIN, "gpuadmin"), "journal", "cat", state).stdout
        rebuilt = [line for line in journal.splitlines() if "BoardRebuilt" in line]
        self.assertEqual(len(rebuilt), 1)
        self.assertIn(f"after record {json.loads(rebuilt[0])['seq']}, ", made.stdout)
        said = run(os.path.join(BIN, "gpusim"), "state", dump, "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        told = json.loads(said.stdout)
        self.assertEqual(told["starts_now"], [])
        self.assertEqual([one["job"] for one in told["starts_later"]], [str(waiting)])
        self.assertAlmostEqual(told["starts_later"][0]["in_s"], 3600, delta=120)
        more = run(os.path.join(BIN, "gpusim"), "what-if", dump, "--add-nodes", "1xn1", "--json")
        changed = json.loads(more.stdout)["changed"]
        self.assertEqual([one["job"] for one in changed["starts_now"]], [str(waiting)])

    def test_says_that_no_controller_was_asked(self):
        state = self.cluster.path("controller")
        made = run(
            os.path.join(BIN, "gpuadmin"), "state", "dump", "--timeout", "1s",
            "--gateway", "/nonexistent", state, self.cluster.path("alone.dump"),
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("as a controller that is started now", made.stderr)

    def test_refuses_what_is_no_state_directory(self):
        made = run(
            os.path.join(BIN, "gpuadmin"), "state", "dump", "/nonexistent", self.cluster.path("x")
        )
        self.assertNotEqual(made.returncode, 0)
        self.assertIn("/nonexistent", made.stderr)
        self.assertFalse(os.path.exists(self.cluster.path("x")))


if __name__ == "__main__":
    unittest.main()
