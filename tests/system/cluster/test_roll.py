"""Reservations, drains with a deadline and rolls, on real daemons."""
import json
import os
import signal
import subprocess
import time
import unittest

from cluster import BIN, Cluster, wait_for


class Roll(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=3, database=False).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        wait_for(
            lambda: all(
                row["connected"] and row["state"] == "up" and row["cpus_used"] == 0
                for row in self.nodes().values()
            ),
            60,
            "every node to be idle again after the test before",
        )

    def admin(self, *words, check=True):
        return self.cluster.command("gpuadmin", *words, user="root", check=check)

    def nodes(self):
        rows = self.cluster.json("gpuinfo", user="root")["rows"]
        return {row["name"]: row for row in rows}

    def roll(self, *words):
        process = subprocess.Popen(
            [os.path.join(BIN, "gpuadmin"), "node", "roll", "n[1-3]", *words],
            env={**os.environ, "MUSTER_GATEWAY": self.cluster.gateway_socket},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=90)
        self.assertEqual(process.returncode, code, out + err)
        return out + err

    def test_rolls_and_goes_on(self):
        done = self.cluster.path("rolled")
        gate = self.cluster.path("gate")
        command = f"while [ ! -e {gate}.{{node}} ]; do sleep 0.1; done; echo {{node}} >> {done}"
        words = ["--run", command, "--max-down", "1", "--reason", "new kernel"]
        job = self.cluster.submit(
            "--gpus", "1", self.cluster.script("j.sh", "#!/bin/sh\nsleep 600\n")
        )
        self.cluster.wait_state(job, "running")
        busy = self.cluster.job(job)["row"]["node_list"]
        idle = [name for name in ("n1", "n2", "n3") if name != busy]

        first = self.roll(*words)
        wait_for(lambda: self.nodes()[idle[0]]["state"] == "drained", 20, "the first to be drained")
        wait_for(
            lambda: ": acting" in self.nodes()[idle[0]]["drain_reason"],
            20,
            "the first to be acted on",
        )
        mark = self.nodes()[idle[0]]["drain_reason"]
        self.assertTrue(mark.startswith("roll ") and mark.endswith("new kernel"), mark)
        self.assertEqual(self.nodes()[idle[1]]["state"], "up")
        first.send_signal(signal.SIGINT)
        text = self.finish(first, 130)
        roll = mark.split()[1].rstrip(":")
        self.assertIn("--resume " + roll, text)
        self.assertIn("in the middle of roll", self.finish(self.roll(*words), 67))

        second = self.roll(*words, "--resume", roll)
        time.sleep(1)
        self.cluster.daemons["controller"].restart()
        for name in idle:
            open(f"{gate}.{name}", "w").close()
        wait_for(lambda: self.nodes()[busy]["state"] == "drained", 60, "the busy one to be drained")
        time.sleep(2)
        with open(done) as file:
            self.assertEqual(sorted(file.read().split()), sorted(idle))
        self.assertEqual(self.cluster.state(job), "running")
        self.cluster.command("gpucancel", str(job))
        open(f"{gate}.{busy}", "w").close()
        self.assertIn("Done: n[1-3]", self.finish(second))
        self.assertEqual({row["state"] for row in self.nodes().values()}, {"up"})
        with open(done) as file:
            self.assertEqual(sorted(file.read().split()), ["n1", "n2", "n3"])

    def test_stops_at_a_failure_and_mends(self):
        words = ["--max-down", "1", "--reason", "test", "--json"]
        failed = self.roll("--run", "test {node} != n1", *words)
        out, _ = failed.communicate(timeout=60)
        reply = json.loads(out)
        self.assertEqual((failed.returncode, reply["failed"]), (1, ["n1"]))
        self.assertEqual(self.nodes()["n1"]["state"], "drained")
        self.assertEqual(self.nodes()["n3"]["state"], "up")
        again = self.roll("--run", "true", *words, "--resume", reply["id"])
        out, _ = again.communicate(timeout=60)
        self.assertEqual(again.returncode, 0, out)
        self.assertEqual(json.loads(out)["done"], ["n1", "n2", "n3"])

    def test_a_drain_says_who_and_ends_in_time(self):
        job = self.cluster.submit(
            "--gpus", "1", self.cluster.script("d.sh", "#!/bin/sh\nsleep 600\n")
        )
        self.cluster.wait_state(job, "running")
        node = self.cluster.job(job)["row"]["node_list"]
        self.assertIn("why", self.admin("node", "drain", node, check=False).stderr)
        self.admin("node", "drain", node, "--reason", "bad fan", "--deadline", "4s")
        row = self.nodes()[node]
        self.assertIn("root", row["drained_by"])
        self.assertIsNotNone(row["drain_deadline"])
        self.assertIn("since", self.cluster.command("gpuinfo", user="root").stdout)
        wait_for(
            lambda: self.cluster.job(job)["row"]["attempt"] == 2
            and self.cluster.state(job) == "running",
            40,
            "the job to run elsewhere",
        )
        self.assertNotEqual(self.cluster.job(job)["row"]["node_list"], node)
        self.cluster.command("gpucancel", str(job))
        self.admin("node", "resume", node)

    def test_reservations(self):
        user = self.cluster.user.pw_name
        add = ["reservation", "add", "course", "--nodes", "n[1-2]", "--start", "now"]
        self.assertIn(
            "no user",
            self.admin(*add, "--duration", "1h", "--users", "nobody-here", check=False).stderr,
        )
        self.admin(*add, "--duration", "1h", "--users", user, "--reason", "a course")
        self.assertEqual(self.nodes()["n1"]["state"], "reserved")
        self.assertEqual(self.nodes()["n3"]["state"], "up")
        row = self.cluster.json("gpuinfo", "--reservations")["rows"][0]
        self.assertEqual((row["name"], row["state"], row["nodes"]), ("course", "active", "n[1-2]"))
        script = self.cluster.script("r.sh", "#!/bin/sh\nsleep 600\n")
        out = self.cluster.submit("--nodes", "2", "--gpus-per-node", "1", "--time", "30m", script)
        inside = self.cluster.submit(
            "--nodes",
            "2",
            "--gpus-per-node",
            "1",
            "--time",
            "30m",
            "--reservation",
            "course",
            script,
        )
        self.cluster.wait_state(inside, "running")
        self.assertEqual(self.cluster.job(inside)["row"]["node_list"], "n[1-2]")
        why = self.cluster.json("gpuqueue", "--why", str(out))
        self.assertEqual(why["reason"], "reserved")
        self.assertIn("reservation course of user " + user, why["sentence"])
        self.cluster.daemons["controller"].restart()
        self.assertEqual(self.nodes()["n1"]["state"], "reserved")
        self.admin("reservation", "remove", "course")
        self.cluster.wait_state(out, "running")
        self.cluster.command("gpucancel", str(out), str(inside))
        with open(self.cluster.path("controller/audit.jsonl")) as file:
            self.assertIn("reservation-add", file.read())


if __name__ == "__main__":
    unittest.main()
