"""The commands against real daemons: what they print, exit with, and live through."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster import BIN, Cluster, wait_for  # noqa: E402


class Background:
    """A command that runs while the test goes on; its output is collected."""

    def __init__(self, cluster, *words):
        self.lines = []
        self.thread = threading.Thread(target=self.run, args=(cluster, words))
        self.result = None
        self.thread.start()

    def run(self, cluster, words):
        self.result = cluster.command(*words, check=False, timeout=120)

    def finish(self, seconds=90):
        self.thread.join(seconds)
        assert self.result is not None, "the command did not end"
        return self.result


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster

    def tearDown(self):
        self.c.command("gpucancel", "--all", check=False)
        wait_for(lambda: not self.c.json("gpuqueue")["rows"], 30, "the queue to be empty")

    def run_it(self, *words, **options):
        return self.c.command(*words, check=False, **options)

    def refused(self, status, text, *words, **options):
        result = self.run_it(*words, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_hold_release_set_and_cancel(self):
        job = self.c.submit("--hold", "--time", "10m", "--", "sleep", "60")
        self.assertEqual(self.c.state(job), "held")
        self.assertEqual(
            self.run_it("gpujob", "set", str(job), "time=5m", "name=renamed").stdout,
            f"Changed job {job}\n",
        )
        self.assertEqual(self.c.job(job)["row"]["time_limit"], 300)
        self.assertEqual(self.c.job(job)["row"]["name"], "renamed")
        self.refused(67, "", "gpujob", "set", str(job), "time=1h")
        self.assertEqual(self.run_it("gpujob", "release", str(job)).stdout, f"Released job {job}\n")
        self.c.wait_state(job, "running")
        self.assertEqual(self.run_it("gpucancel", str(job)).stdout, f"Cancelled job {job}\n")
        self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "cancelled")

    def test_a_waiting_job_says_why(self):
        first = self.c.submit("--nodes", "2", "--gpus-per-node", "4", "--", "sleep", "60")
        self.c.wait_state(first, "running")
        job = self.c.submit("--gpus", "1", "--", "true")
        why = self.run_it("gpuqueue", "--why", str(job))
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertIn("free GPU", why.stdout)
        self.assertIn("Why:", self.run_it("gpuqueue", str(job)).stdout)
        self.assertEqual(self.c.json("gpuqueue", "--why", str(job))["nodes_total"], 2)

    def test_a_start_is_estimated_and_a_dry_run_names_what_starts_sooner(self):
        first = self.c.submit("--gpus", "4", "--time", "10m", "--", "sleep", "60")
        second = self.c.submit("--gpus", "2", "--time", "4m", "--", "sleep", "60")
        self.c.wait_state(first, "running")
        self.c.wait_state(second, "running")
        wide = ["--nodes", "2", "--gpus-per-node", "4", "--time", "5m", "--launch", "tasks"]
        job = self.c.submit(*wide, "--", "true")
        for _ in range(100):
            why = self.c.json("gpuqueue", "--why", str(job))
            if why["start_p50"]:
                break
            time.sleep(0.2)
        self.assertTrue(why["start_p50"], why)
        self.assertIn("starts in about", why["sentence"])
        self.assertEqual(why["start_p50"], why["start_p90"])
        self.assertIn("Starts:", self.run_it("gpuqueue", str(job)).stdout)
        rows = {row["job"]: row for row in self.c.json("gpuqueue")["rows"]}
        self.assertTrue(rows[job]["start_p50"])
        self.assertFalse(rows[first]["start_p50"])
        said = self.run_it("gpusubmit", "--dry-run", *wide, "--", "true")
        self.assertIn("It would start about", said.stdout)
        said = self.run_it(
            "gpusubmit", "--json", "--dry-run", "--gpus", "4", "--time", "5m", "--", "true"
        )
        trial = json.loads(said.stdout)["trial"]
        self.assertFalse(trial["fits_now"])
        self.assertTrue(trial["start_p50"])
        self.assertIn("--gpus 2", [row["options"] for row in trial["sooner"]])
        stats = self.c.json("gpuadmin", "stats", "eta")
        self.assertEqual(stats["days"], 30)
        self.assertGreaterEqual(stats["jobs_told"], 1)
        for each in (job, first, second):
            self.run_it("gpucancel", str(each))
            self.c.wait_end(each)

    def test_refusals_have_their_codes(self):
        self.refused(66, "there is no queue nope", "gpusubmit", "--queue", "nope", "--", "true")
        self.refused(66, "there is no account nope", "gpusubmit", "--account", "nope", "--", "true")
        self.refused(65, "can never run", "gpusubmit", "--gpus", "5", "--", "true")
        self.refused(
            65, "can never run", "gpusubmit", "--nodes", "3", "--launch", "tasks", "--", "true"
        )
        self.refused(66, "no job 999999", "gpuqueue", "999999")
        self.refused(66, "no job 999999", "gpucancel", "999999")
        self.refused(66, "999999", "gpulogs", "999999")
        self.refused(66, "nowhere", "gpuinfo", "nowhere")
        self.assertEqual(self.c.json("gpuqueue")["rows"], [])

    def test_bad_directories_are_refused_here(self):
        closed = os.path.join(self.c.home, "closed")
        os.makedirs(closed, exist_ok=True)
        os.chmod(closed, 0o700 if os.geteuid() == 0 else 0)
        self.refused(64, "cannot be entered", "gpusubmit", "--chdir", closed, "--", "true")
        self.refused(
            64, "cannot be written", "gpusubmit", "--output", closed + "/x.out", "--", "true"
        )
        os.chmod(closed, 0o700)

    def test_waiting_outlives_the_controller(self):
        waiting = Background(self.c, "gpusubmit", "--wait", "--", "sh", "-c", "sleep 4; exit 7")
        wait_for(
            lambda: any(row["state"] == "running" for row in self.c.json("gpuqueue")["rows"]),
            30,
            "the job to run",
        )
        self.c.daemons["controller"].restart()
        result = waiting.finish()
        self.assertEqual(result.returncode, 7, result.stderr)

    def test_following_outlives_controller_and_gateway(self):
        script = self.c.script(
            "count.sh", "#!/bin/bash\nfor i in $(seq 40); do echo line $i; sleep 0.2; done\n"
        )
        job = self.c.submit("--output", "count-%j.out", script)
        following = Background(self.c, "gpulogs", "-f", str(job))
        self.c.wait_state(job, "running")
        time.sleep(1)
        self.c.daemons["controller"].restart()
        time.sleep(1)
        os.unlink(self.c.gateway_socket)
        self.c.daemons["gateway"].restart()
        result = following.finish()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "".join(f"line {i}\n" for i in range(1, 41)))
        self.assertEqual(result.stdout, self.c.read(f"count-{job}.out"))

    def test_logs_of_what_has_ended(self):
        job = self.c.submit(
            "--launch",
            "tasks",
            "--tasks",
            "2",
            "--output",
            "ended-%j-%t.out",
            "--",
            "sh",
            "-c",
            "echo rank $RANK",
        )
        self.c.wait_end(job)
        self.assertEqual(self.c.command("gpulogs", "--rank", "1", str(job)).stdout, "rank 1\n")
        job = self.c.submit("--", "echo", "here")
        self.c.wait_end(job)
        self.assertEqual(self.c.command("gpulogs", str(job)).stdout, "here\n")

    def test_watch_shows_each_state(self):
        argv = [os.path.join(BIN, "gpuqueue"), "--watch", "--all", "--ended", "--json"]
        environment = {**os.environ, "MUSTER_GATEWAY": self.c.gateway_socket}
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as watch:
            job = self.c.submit("--", "sleep", "1")
            states = []
            for line in watch.stdout:
                row = json.loads(line)
                if row["job"] == job and row["state"] not in states:
                    states.append(row["state"])
                if row["job"] == job and row["state"] == "ended":
                    break
            watch.send_signal(signal.SIGINT)
            self.assertNotEqual(watch.wait(timeout=10), 0)
        self.assertEqual(states[-2:], ["running", "ended"])

    def test_an_array_ends_as_its_worst_element(self):
        result = self.run_it(
            "gpusubmit",
            "--wait",
            "--array",
            "0-3%2",
            "--",
            "sh",
            "-c",
            "exit $MUSTER_ARRAY_TASK_ID",
        )
        self.assertEqual(result.returncode, 3, result.stderr)

    def test_accounting_has_rows_and_a_total(self):
        jobs = [
            self.c.submit("--gpus", "1", "--name", "acct", "--", "sleep", "1") for _ in range(2)
        ]
        for job in jobs:
            self.c.wait_end(job)
        wait_for(
            lambda: all(
                self.c.accounting(job) and self.c.accounting(job)[0]["state"] == "ended"
                for job in jobs
            ),
            30,
            "the database to follow",
        )
        text = self.run_it("gpuacct", *map(str, jobs)).stdout
        self.assertIn("Total of 2 rows", text)
        self.assertIn("completed", text)

    def test_administration(self):
        root = {"user": "root"}
        self.assertEqual(
            self.c.command("gpuadmin", "node", "drain", "n2", "--reason", "a fan", **root).stdout,
            "Draining n2\n",
        )
        self.assertIn("a fan", self.c.command("gpuinfo").stdout)
        self.assertEqual(
            self.c.command("gpuadmin", "node", "resume", "n2", **root).stdout, "Resumed n2\n"
        )
        self.assertIn(
            "muster-worker enrol --node n9",
            self.c.command("gpuadmin", "node", "add", "n9", **root).stdout,
        )
        self.assertIn("2 of 2 connected", self.c.command("gpuadmin", "status", **root).stdout)
        self.assertIn("Your role:      admin", self.c.command("gpuadmin", "status", **root).stdout)
        self.assertIn("main", self.c.command("gpuadmin", "queue", "list").stdout)
        self.c.command("gpuadmin", "reload", **root)
        if os.geteuid() == 0:
            self.refused(
                67, "not an administrator", "gpuadmin", "node", "drain", "n2", "--reason", "x"
            )

    def test_offline_verbs(self):
        root = {"user": "root"}
        config = self.c.path("controller.toml")
        self.assertIn("fine", self.c.command("gpuadmin", "config", "check", config, **root).stdout)
        broken = self.c.path("broken.toml")
        with open(broken, "w") as file:
            file.write('cluster = "x"\nnonsense = 1\n')
        result = self.c.command("gpuadmin", "config", "check", broken, check=False, **root)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("broken.toml:2", result.stderr)
        lines = self.c.command(
            "gpuadmin", "journal", "cat", self.c.path("controller"), **root
        ).stdout.splitlines()
        self.assertGreater(len(lines), 5)
        self.assertIsInstance(json.loads(lines[0]), dict)

    def test_75_while_the_controller_is_away(self):
        self.c.daemons["controller"].kill()
        try:
            began = time.monotonic()
            result = self.run_it("gpusubmit", "--timeout", "2", "--", "true")
            self.assertEqual(result.returncode, 75, result.stderr)
            self.assertLess(time.monotonic() - began, 10)
            self.assertIn("away", result.stderr)
        finally:
            self.c.daemons["controller"].start()
            wait_for(self.c.all_connected, 30, "all workers to be back")


if __name__ == "__main__":
    unittest.main(verbosity=2)
