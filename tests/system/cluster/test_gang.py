"""Gangs over two nodes: environment of every rank, causes of death, cancellation, accounting."""
import json
import os
import signal
import unittest

from cluster import Cluster, wait_for

RANK_SCRIPT = """#!/usr/bin/python3
import json, os, sys
keys = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
        "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
        "OMP_NUM_THREADS", "MUSTER_JOB_ID", "NCCL_COMM_ID", "NCCL_IB_HCA", "MARK"]
facts = {key: os.environ.get(key) for key in keys}
facts["uid"], facts["groups"] = os.getuid(), sorted(os.getgroups())
facts["argv"], facts["cwd"], facts["umask"] = sys.argv[1:], os.getcwd(), os.umask(0)
with open(f"rank-{os.environ.get('RANK', 'none')}.json", "a") as file:
    file.write(json.dumps(facts) + "\\n")
print("hello from rank", os.environ.get("RANK"))
"""


class Gang(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        for name in os.listdir(self.c.home):
            if name.endswith((".json", ".out")):
                os.unlink(os.path.join(self.c.home, name))

    def ranks(self, count):
        facts = []
        for rank in range(count):
            lines = self.c.read(f"rank-{rank}.json").splitlines()
            self.assertEqual(len(lines), 1, f"rank {rank} ran {len(lines)} times")
            facts.append(json.loads(lines[0]))
        return facts

    def test_every_rank_gets_its_environment(self):
        script = self.c.script("rank.py", RANK_SCRIPT)
        job = self.c.submit(
            "--nodes",
            "2",
            "--gpus-per-node",
            "2",
            "--launch",
            "tasks",
            "--time",
            "5m",
            script,
            "a b",
            "c",
            env={"MARK": "x y"},
        )
        reply = self.c.wait_end(job)
        self.assertEqual(reply["cause"]["kind"], "completed", reply)
        facts = self.ranks(4)
        for rank, each in enumerate(facts):
            self.assertEqual(each["RANK"], str(rank))
            self.assertEqual(each["LOCAL_RANK"], str(rank % 2))
            self.assertEqual(each["WORLD_SIZE"], "4")
            self.assertEqual(each["LOCAL_WORLD_SIZE"], "2")
            self.assertEqual(each["NODE_RANK"], str(rank // 2))
            self.assertEqual(each["MASTER_ADDR"], "127.0.0.1")
            self.assertEqual(each["MASTER_PORT"], facts[0]["MASTER_PORT"])
            self.assertEqual(each["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")
            self.assertEqual(
                each["CUDA_VISIBLE_DEVICES"], facts[rank // 2 * 2]["CUDA_VISIBLE_DEVICES"]
            )
            self.assertEqual(len(each["CUDA_VISIBLE_DEVICES"].split(",")), 2)
            self.assertEqual(each["MUSTER_JOB_ID"], str(job))
            self.assertEqual(each["MARK"], "x y")
            self.assertEqual(each["argv"], ["a b", "c"])
            self.assertEqual(each["cwd"], self.c.home)
            self.assertEqual(each["uid"], self.c.user.pw_uid)
            self.assertIsNone(each["NCCL_COMM_ID"])
            self.assertIsNone(each["NCCL_IB_HCA"])
        self.assertIn("hello from rank", self.c.read(f"muster-{job}.out"))

    def test_script_mode_runs_one_process_without_ranks(self):
        script = self.c.script("rank.py", RANK_SCRIPT)
        job = self.c.submit("--gpus", "1", script)
        self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")
        facts = json.loads(self.c.read("rank-none.json"))
        self.assertIsNone(facts["WORLD_SIZE"])
        self.assertIsNone(facts["LOCAL_RANK"])

    def test_a_rank_that_fails_ends_the_gang_with_its_cause(self):
        script = self.c.script(
            "fail.sh", "#!/bin/bash\nif [ $RANK = 2 ]; then sleep 1; exit 3; fi\nsleep 300\n"
        )
        job = self.c.submit("--nodes", "2", "--gpus-per-node", "2", "--launch", "tasks", script)
        reply = self.c.wait_end(job)
        self.assertEqual(reply["cause"]["kind"], "exited")
        self.assertEqual(reply["cause"]["exit_status"], 3)
        self.assertEqual(reply["cause"]["rank"], 2)
        wait_for(lambda: not self.c.processes_of_jobs(), 10, "no process to be left")
        self.assertEqual(reply["row"]["exit_status"], 3)

    def test_a_signal_is_told_from_an_exit(self):
        script = self.c.script("die.sh", "#!/bin/bash\nkill -SEGV $$\n")
        job = self.c.submit(script)
        reply = self.c.wait_end(job)
        self.assertEqual(reply["cause"]["kind"], "signalled")
        self.assertEqual(reply["cause"]["signal"], signal.SIGSEGV)

    def test_the_time_limit_ends_it(self):
        script = self.c.script("long.sh", "#!/bin/bash\nsleep 300\n")
        job = self.c.submit("--time", "2s", script)
        reply = self.c.wait_end(job)
        self.assertEqual(reply["cause"]["kind"], "timed-out")

    def test_cancel_leaves_no_process(self):
        script = self.c.script(
            "tree.sh",
            """#!/bin/bash
trap '' TERM
setsid sleep 300 &
(sleep 300 &) &
nohup sleep 300 >/dev/null 2>&1 &
touch started-$RANK
sleep 300
""",
        )
        job = self.c.submit("--nodes", "2", "--gpus-per-node", "1", "--launch", "tasks", script)
        wait_for(
            lambda: all(
                os.path.exists(os.path.join(self.c.home, f"started-{r}")) for r in range(2)
            ),
            30,
            "both ranks",
        )
        self.assertTrue(self.c.processes_of_jobs())
        self.c.command("gpucancel", str(job))
        reply = self.c.wait_end(job, seconds=60)
        self.assertEqual(reply["cause"]["kind"], "cancelled")
        self.assertIn(self.c.user.pw_name, reply["cause"]["by"])
        wait_for(lambda: not self.c.processes_of_jobs(), 10, "no process to be left")
        wait_for(lambda: not self.c.attempts_left(), 20, "no attempt to be left on the nodes")

    def test_a_gang_waits_for_all_its_gpus_and_says_why(self):
        script = self.c.script("hold.sh", "#!/bin/bash\nsleep 300\n")
        first = self.c.submit("--gpus-per-node", "3", script)
        self.c.wait_state(first, "running")
        second = self.c.submit("--nodes", "2", "--gpus-per-node", "4", "--launch", "tasks", script)
        why = wait_for(lambda: self.c.json("gpuqueue", "--why", str(second)), 10, "an explanation")
        self.assertEqual(why["reason"], "no-free-gpus", why)
        self.assertEqual(why["nodes_total"], 2)
        rows = self.c.json("gpuqueue", "--all", "--state", "pending", user="root")["rows"]
        self.assertEqual([row["reason"] for row in rows], ["no-free-gpus"], rows)
        self.assertEqual(why["nodes_fit"], 1)
        self.assertEqual(
            sum(each["nodes_failing"] for each in why["blockers"]) + why["nodes_fit"], 2
        )
        self.c.command("gpucancel", str(first))
        self.c.wait_state(second, "running", seconds=60)
        wait_for(
            lambda: [each["phase"] for each in self.c.job(second)["members"]] == ["running"] * 2,
            20,
            "both nodes to say that it runs",
        )
        self.c.command("gpucancel", str(second))
        self.c.wait_end(second, seconds=60)

    def test_what_can_never_run_is_refused_at_once(self):
        script = self.c.script("hold.sh", "#!/bin/bash\nsleep 1\n")
        result = self.c.command("gpusubmit", "--gpus-per-node", "9", script, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("never", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_usage_is_in_the_accounts(self):
        script = self.c.script("two.sh", "#!/bin/bash\nsleep 2\n")
        job = self.c.submit("--nodes", "2", "--gpus-per-node", "2", "--launch", "tasks", script)
        self.c.wait_end(job)
        rows = wait_for(
            lambda: [row for row in self.c.accounting(job) if row["state"] == "ended"],
            20,
            "accounting rows",
        )
        self.assertEqual(len(rows), 1)
        seconds = float(rows[0]["gpu_seconds"])
        self.assertGreaterEqual(seconds, 8.0)
        self.assertLess(seconds, 40.0)
        self.assertGreater(float(rows[0]["cost"]), 0)
        self.assertEqual(rows[0]["attempts"], 1)

    def test_the_log_is_followed_from_anywhere(self):
        script = self.c.script(
            "talk.sh", "#!/bin/bash\nfor i in 1 2 3; do echo line $i of $RANK; sleep 0.3; done\n"
        )
        job = self.c.submit(
            "--nodes",
            "2",
            "--gpus-per-node",
            "1",
            "--launch",
            "tasks",
            "--output",
            "t-%j-%r.out",
            script,
        )
        result = self.c.command("gpulogs", "-f", str(job), "--rank", "1")
        self.assertEqual(result.stdout.splitlines(), [f"line {i} of 1" for i in (1, 2, 3)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
