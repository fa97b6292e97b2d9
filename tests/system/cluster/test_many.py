"""Many at once: submitters, jobs on one node, retried submits."""
import threading
import unittest
import uuid

from cluster import Cluster, wait_for


class Many(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=0, cpus=200, database=False).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster

    def test_twenty_submitters_at_once(self):
        path = self.c.script("true.sh", "#!/bin/sh\ntrue\n")
        jobs, errors = [], []

        def submit():
            try:
                jobs.append(self.c.submit("--output", "/dev/null", path))
            except Exception as error:  # Collected and shown by the assertion.
                errors.append(error)

        threads = [threading.Thread(target=submit) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(len(set(jobs)), 20)
        for job in jobs:
            self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")

    def test_a_hundred_jobs_on_a_node_have_no_port_clash(self):
        path = self.c.script(
            "bind.py",
            """#!/usr/bin/python3
import os, socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
s.listen()
with open("ports", "a") as file:
    file.write(os.environ["MASTER_PORT"] + "\\n")
time.sleep(4)
""",
        )
        reply = self.c.command(
            "gpusubmit",
            "--parsable",
            "--array",
            "0-99",
            "--name",
            "clash",
            "--launch",
            "tasks",
            "--cpus-per-task",
            "1",
            "--output",
            "bind-%a.out",
            path,
        )
        job = int(reply.stdout)

        def all_ended():
            rows = self.c.json("gpuqueue", "--all", "--ended", "--name", "clash", user="root")[
                "rows"
            ]
            return rows and all(row["state"] == "ended" for row in rows) and rows

        rows = wait_for(all_ended, 90, "all elements to end")
        bad = [row for row in rows if row["reason"] != "completed"]
        self.assertEqual(bad, [])
        ports = self.c.read("ports").split()
        self.assertEqual(len(ports), 100)

    def test_a_retried_submit_is_the_same_job(self):
        path = self.c.script("true.sh", "#!/bin/sh\ntrue\n")
        request = str(uuid.uuid4())
        first = self.c.submit("--request-id", request, path)
        self.assertEqual(self.c.submit("--request-id", request, path), first)
        self.assertNotEqual(self.c.submit(path), first)


if __name__ == "__main__":
    unittest.main(verbosity=2)
