"""What administrators say to a running controller, and what users may not undo."""
import json
import unittest

from cluster import IS_ROOT, Cluster, wait_for


class AdminVerbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, database=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def fails(self, *words, user="root"):
        ran = self.cluster.command(*words, user=user, check=False)
        self.assertNotEqual(ran.returncode, 0, ran.stdout)
        return ran.stderr

    def test_shows_the_applied_configuration(self):
        shown = self.cluster.json("gpuadmin", "config", "show", user="root")
        self.assertEqual(shown["cluster"], "test")
        self.assertGreaterEqual(shown["version"], 1)
        self.assertNotIn("conninfo", json.dumps(shown))
        if IS_ROOT:
            self.assertIn("only operators", self.fails("gpuadmin", "config", "show", user=None))

    def test_refuses_to_skip_nonsense(self):
        skip = ["gpuadmin", "db", "skip", "--reason", "a test", "--to"]
        self.assertIn("--yes", self.fails(*skip, "7"))
        self.assertIn("journal ends", self.fails(*skip, "1000000000", "--yes"))

        def caught_up():
            status = self.cluster.json("gpuadmin", "status", user="root")
            return status["database_connected"] and status["database_seq"] >= status["seq"]

        wait_for(caught_up, 20, "the database to have all records")
        self.assertIn("nothing lies between", self.fails(*skip, "1", "--yes"))
        if IS_ROOT:
            self.assertIn("not an administrator", self.fails(*skip, "7", "--yes", user=None))
        with open(self.cluster.path("controller/audit.jsonl")) as file:
            lines = [line for line in file if "database-skip" in line]
        self.assertTrue(any('"allowed":true' in line.replace(" ", "") for line in lines), lines)

    @unittest.skipUnless(IS_ROOT, "needs two users")
    def test_a_user_does_not_release_an_operators_hold(self):
        job = self.cluster.submit("--hold", self.cluster.script("h.sh", "#!/bin/sh\n"))
        self.cluster.command("gpujob", "hold", str(job), user="root")
        self.assertIn("operator", self.fails("gpujob", "release", str(job), user=None))
        rows = self.cluster.json("gpuqueue", "--all")["rows"]
        self.assertEqual([row["reason"] for row in rows], ["held-by-operator"])
        self.cluster.command("gpujob", "release", str(job), user="root")


if __name__ == "__main__":
    unittest.main()
