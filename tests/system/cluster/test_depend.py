"""Jobs that wait for one another, through real daemons: a graph, failures, times, a restart."""
import unittest

from cluster import Cluster, wait_for


class Depend(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=0, cpus=16, database=False).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        self.note = self.c.script("note.sh", '#!/bin/sh\necho "$1" >> order\n')
        self.wait = self.c.script(
            "wait.sh", "#!/bin/sh\nwhile [ ! -e go.$1 ]; do sleep 0.05; done\nexit ${2:-0}\n"
        )

    def submit(self, *words):
        return self.c.submit("--output", "/dev/null", *words)

    def go(self, name):
        self.c.script(f"go.{name}", "")

    def kind(self, job):
        return self.c.wait_end(job)["cause"]["kind"]

    def why(self, job):
        return self.c.json("gpuqueue", "--why", str(job))

    def test_a_graph_runs_in_order_across_a_restart(self):
        first = self.submit(self.wait, "graph")
        left = self.submit("--dependency", f"afterok:{first}", self.note, "left")
        right = self.submit("--dependency", f"afterok:{first}", self.note, "right")
        last = self.submit("--dependency", f"afterok:{left}:{right}", self.note, "last")
        spare = self.submit(
            "--dependency", f"afternotok:{first}?afterany:{last}", self.note, "spare"
        )
        why = self.why(last)
        self.assertEqual(why["reason"], "dependency")
        self.assertIn(f"afterok:{left}", why["sentence"])
        self.c.daemons["controller"].restart()
        wait_for(self.c.ping, 20, "the controller to answer")
        self.assertEqual(self.c.job(last)["row"]["reason"], "dependency")
        self.go("graph")
        for job in (first, left, right, last, spare):
            self.assertEqual(self.kind(job), "completed")
        # Another test of this cluster writes "never" there.
        order = [word for word in self.c.read("order").split() if word != "never"]
        self.assertEqual(sorted(order[:2]), ["left", "right"])
        self.assertEqual(order[2:], ["last", "spare"])

    def test_a_failure_ends_or_keeps_those_behind_it(self):
        first = self.submit(self.wait, "fail", "3")
        stays = self.submit("--dependency", f"afterok:{first}", self.note, "never")
        words = ("--dependency", f"afterok:{first}", "--kill-on-invalid-dep", "yes")
        ends = self.submit(*words, self.note, "never")
        self.go("fail")
        self.assertEqual(self.kind(first), "exited")
        self.assertEqual(self.kind(ends), "dependency-never")
        self.assertEqual(self.why(stays)["reason"], "dependency-never")
        wait_for(
            lambda: self.c.job(stays)["row"]["reason"] == "dependency-never",
            10,
            "the list to say so",
        )
        self.c.command("gpujob", "set", str(stays), f"dependency=afterany:{first}")
        self.assertEqual(self.kind(stays), "completed")

    def test_arrays_go_element_by_element_and_are_throttled(self):
        first = self.submit("--array", "0-3", self.wait, "corr")
        second = self.submit(
            "--array", "0-3%1", "--dependency", f"aftercorr:{first}", self.note, "e"
        )
        self.c.command("gpujob", "set", str(second), "throttle=2")
        self.assertEqual(self.c.job(second)["spec"]["array"]["running_max"], 2)
        self.c.command("gpucancel", f"{first}_3")
        self.go("corr")

        def rows():
            found = self.c.json("gpuqueue", "--all", "--ended", user="root")["rows"]
            return [row for row in found if row["job"] == second]

        wait_for(lambda: sum(row["state"] == "ended" for row in rows()) == 3, 60, "three elements")
        self.assertEqual(self.why(f"{second}_3")["reason"], "dependency-never")
        self.c.command("gpucancel", f"{second}_3")
        self.assertTrue(wait_for(lambda: all(r["state"] == "ended" for r in rows()), 20, "its end"))

    def test_times(self):
        late = self.submit("--begin", "now+2", self.note, "late")
        self.assertEqual(self.why(late)["reason"], "not-yet")
        self.assertEqual(self.kind(late), "completed")
        never = self.submit("--hold", "--time", "60s", "--deadline", "now+62", self.note, "never")
        self.assertEqual(self.kind(never), "deadline")
        refused = self.c.command(
            "gpusubmit", "--time", "2h", "--deadline", "now+1h", self.note, check=False
        )
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("could not end by", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
