"""What can be asked for, against real daemons: what jobs get, and what is refused."""
import unittest

from cluster import Cluster

CONFIG = """
[[licence]]
name = "seat"
total = 2
[[switch]]
name = "leaf1"
nodes = ["n1", "n2"]
"""


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(config_extra=CONFIG).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster

    def refused(self, text, *options):
        result = self.c.command("gpusubmit", *options, "--", "true", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(text, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def environment_of(self, *options):
        """Of each process, by rank: a file each."""
        job = self.c.submit(
            *options,
            "--time",
            "5m",
            "--output",
            "%j-%t.out",
            "--",
            "env",
        )
        self.c.wait_end(job)
        self.assertEqual(self.c.job(job)["row"]["state"], "ended")
        found = []
        while True:
            try:
                text = self.c.read(f"{job}-{len(found)}.out")
            except FileNotFoundError:
                return found
            found.append(dict(line.split("=", 1) for line in text.splitlines() if "=" in line))

    def test_groups_and_ranges(self):
        ranks = self.environment_of(
            "--launch", "tasks", "--group", "--nodes 1 --gpus 2", "--group", "--nodes 1 --tasks 1"
        )
        self.assertEqual([rank["MUSTER_GROUP"] for rank in ranks], ["0", "0", "1"])
        self.assertEqual({rank["WORLD_SIZE"] for rank in ranks}, {"3"})
        self.assertEqual(ranks[2]["MUSTER_GPUS_ON_NODE"], "0")
        ranks = self.environment_of("--launch", "tasks", "--nodes", "1-5", "--gpus-per-node", "1")
        self.assertEqual({rank["MUSTER_NNODES"] for rank in ranks}, {"2"})
        self.assertEqual(len(ranks), 2)

    def test_whole_nodes_and_shares(self):
        nodes = {row["name"]: row for row in self.c.json("gpuinfo")["rows"]}
        (rank,) = self.environment_of("--launch", "tasks", "--exclusive", "--nodelist", "n1")
        self.assertEqual(rank["MUSTER_GPUS_ON_NODE"], str(len(nodes["n1"]["gpus"])))
        self.assertEqual(rank["MUSTER_CPUS_ON_NODE"], str(nodes["n1"]["cpus"]))
        (rank,) = self.environment_of("--launch", "tasks", "--gpus", "0.5", "--exclude", "n1")
        self.assertEqual(rank["MUSTER_NODE_NAME"], "n2")

    def test_licences(self):
        job = self.c.submit("--licences", "seat:2", "--time", "5m", "--", "sleep", "60")
        self.c.wait_state(job, "running")
        waits = self.c.submit("--licences", "seat", "--time", "5m", "--", "true")
        why = self.c.command("gpuqueue", "--why", str(waits)).stdout
        self.assertIn("needs 1 of licence seat, of which 0 of 2 are free", why)
        self.assertIn(f"held by job {job}", why)
        self.c.command("gpucancel", str(job))
        self.c.wait_end(waits)

    def test_refusals(self):
        self.refused("at character 3: this ( is not closed", "--constraint", "a&(b")
        self.refused("no node has the feature a", "--constraint", "a")
        self.refused("there is no node n9; did you mean n1?", "--nodelist", "n9")
        self.refused("there is no licence sead; did you mean seat?", "--licences", "sead")
        self.refused("there is no switch leaf2; did you mean leaf1?", "--topology", "switch:leaf2!")
        self.refused("runs backwards", "--nodes", "3-2")
        self.refused("a part of one GPU", "--gpus", "2", "--gpu-share", "0.5")


if __name__ == "__main__":
    unittest.main()
