"""kill -9 of any daemon at any moment loses and repeats nothing."""
import json
import os
import threading
import time
import unittest

from cluster import IS_ROOT, Cluster, ClusterError, wait_for

# Appends one line per start and counts seconds, so that a second start or a lost one shows.
SCRIPT = """#!/bin/bash
echo start >> runs-$MUSTER_JOB_ID-$RANK
for i in $(seq 40); do sleep 0.1; done
echo end >> runs-$MUSTER_JOB_ID-$RANK
"""


class Kill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        self.path = self.c.script("count.sh", SCRIPT)

    def run_gang(self):
        job = self.c.submit(
            "--nodes", "2", "--gpus-per-node", "1", "--launch", "tasks", "--time", "5m", self.path
        )
        self.c.wait_state(job, "running")
        wait_for(
            lambda: all(
                os.path.exists(os.path.join(self.c.home, f"runs-{job}-{r}")) for r in (0, 1)
            ),
            20,
            "both ranks",
        )
        return job

    def finish(self, job):
        reply = self.c.wait_end(job, seconds=60)
        self.assertEqual(reply["cause"]["kind"], "completed", reply)
        self.assertEqual(reply["row"]["attempt"], 1)
        for rank in (0, 1):
            self.assertEqual(self.c.read(f"runs-{job}-{rank}"), "start\nend\n")
        rows = wait_for(
            lambda: [row for row in self.c.accounting(job) if row["state"] == "ended"],
            30,
            "accounting rows",
        )
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0]["attempts"], 1)
        self.assertGreaterEqual(float(rows[0]["gpu_seconds"]), 8.0)
        wait_for(lambda: not self.c.attempts_left(), 30, "no attempt to be left on the nodes")

    def test_controller(self):
        job = self.run_gang()
        self.c.daemons["controller"].restart()
        self.finish(job)

    def test_controller_away_while_the_job_ends(self):
        job = self.run_gang()
        self.c.daemons["controller"].kill()
        time.sleep(6)
        self.c.daemons["controller"].start()
        self.finish(job)

    def test_worker(self):
        job = self.run_gang()
        self.c.daemons["n2"].restart()
        self.finish(job)

    def test_launcher(self):
        job = self.run_gang()
        self.c.daemons["n1.launcher"].restart()
        self.finish(job)

    def test_launcher_and_worker_away_while_the_job_ends(self):
        job = self.run_gang()
        self.c.daemons["n1"].kill()
        self.c.daemons["n1.launcher"].kill()
        time.sleep(6)
        self.c.daemons["n1.launcher"].start()
        self.c.daemons["n1"].start()
        self.finish(job)

    def test_gateway(self):
        job = self.run_gang()
        self.c.daemons["gateway"].restart()
        self.finish(job)

    def test_the_database_is_away(self):
        self.c.postgres("stop", "immediate")
        job = self.run_gang()
        reply = self.c.wait_end(job)
        self.assertEqual(reply["cause"]["kind"], "completed")
        self.c.start_database()
        self.finish(job)

    def test_a_submit_waits_for_the_controller(self):
        self.c.daemons["controller"].kill()
        result = self.c.command("gpusubmit", "--timeout", "2s", self.path, check=False)
        self.assertEqual(result.returncode, 75, result.stderr)
        self.c.daemons["controller"].start()

    def test_acknowledged_jobs_survive(self):
        jobs = [self.c.submit("--hold", self.path) for _ in range(20)]
        self.c.daemons["controller"].restart()
        wait_for(self.c.ping, 20, "the controller to answer")
        for job in jobs:
            self.assertEqual(self.c.state(job), "held")
        self.c.command("gpucancel", *map(str, jobs))

    def drill(self, victim, pid, supervise):
        """gpuadmin drill kills the process; a thread of ours is its supervisor."""
        supervisor = threading.Thread(target=supervise)
        supervisor.start()
        words = ["--user", self.c.user.pw_name] if IS_ROOT else []
        result = self.c.command(
            "gpuadmin",
            *["drill", victim, "--pid", str(pid), "--json", *words],
            user="root",
            timeout=200,
            # It changes its effective uid, and a leak check cannot trace such a process.
            env={"ASAN_OPTIONS": "detect_leaks=0"},
        )
        supervisor.join()
        reply = json.loads(result.stdout)
        self.assertEqual(reply["acknowledged"], 40)
        self.assertEqual((reply["lost"], reply["repeated"], reply["unbilled"]), (0, 0, 0), reply)
        self.assertTrue(reply["accounts_checked"])

    def drill_daemon(self, victim, daemon):
        process = self.c.daemons[daemon].process

        def supervise():
            process.wait()
            self.c.daemons[daemon].restart()

        self.drill(victim, process.pid, supervise)

    def test_drill_of_the_controller(self):
        self.drill_daemon("controller", "controller")

    def test_drill_of_a_worker(self):
        self.drill_daemon("worker", "n1")

    def test_drill_of_the_database(self):
        with open(self.c.path("pg", "data", "postmaster.pid")) as file:
            pid = int(file.readline())

        def start_again():
            try:
                self.c.start_database()
                return True
            except ClusterError:  # The dead server's children still hold its memory.
                return False

        def supervise():
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 60, "the database to be killed")
            wait_for(start_again, 60, "the database to start")

        self.drill("db", pid, supervise)


if __name__ == "__main__":
    unittest.main(verbosity=2)
