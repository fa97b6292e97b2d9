"""A node joins by a one-time token; administrators drain and resume it; the configuration is
reloaded."""
import os
import subprocess
import unittest

from cluster import BIN, Cluster, wait_for


class Enrol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, database=False).start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster

    def enrol(self, name, token):
        with open(self.c.path("controller/keys/transport.pub")) as file:
            server_key = file.read().strip()
        return subprocess.run(
            [
                os.path.join(BIN, "muster-worker"),
                "enrol",
                "--node",
                name,
                "--controller",
                f"tcp://127.0.0.1:{self.c.ports['enrol']}",
                "--server-key",
                server_key,
                "--key-file",
                self.c.path(name + ".key"),
                "--order-keys",
                self.c.path(name + ".orders"),
            ],
            input=token + "\n",
            capture_output=True,
            text=True,
            timeout=60,
        )

    def row(self, name):
        rows = self.c.json("gpuinfo", user="root")["rows"]
        return next((row for row in rows if row["name"] == name), None)

    def test_a_token_is_good_once_and_for_its_node(self):
        reply = self.c.json("gpuadmin", "node", "add", "n7", user="root")
        self.assertNotIn(reply["token"], reply["command"])
        self.assertNotEqual(self.enrol("n8", reply["token"]).returncode, 0)
        result = self.enrol("n7", reply["token"])
        self.assertEqual(result.returncode, 0, result.stderr)
        again = self.enrol("n7", reply["token"])
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("token", again.stderr)
        with open(self.c.path("n7.orders")) as mine, open(
            self.c.path("controller/keys/orders.pub")
        ) as theirs:
            self.assertEqual(mine.read().split(), theirs.read().split())
        self.c.nodes.append("n7")
        self.c.start_node("n7", 6)
        wait_for(lambda: self.row("n7") and self.row("n7")["connected"], 30, "n7 to be connected")
        script = self.c.script("where.sh", "#!/bin/sh\ntrue\n")
        job = self.c.submit(
            "--nodes",
            "2",
            "--gpus-per-node",
            "1",
            "--launch",
            "tasks",
            "--output",
            "/dev/null",
            script,
        )
        self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")

    def test_users_may_not_administrate(self):
        for words in (["node", "add", "n9"], ["node", "drain", "n1", "--reason", "x"], ["reload"]):
            result = self.c.command("gpuadmin", *words, check=False)
            if self.c.user.pw_uid != os.geteuid():
                self.assertEqual(result.returncode, 67, result.stderr)
                self.assertIn("administrator", result.stderr)

    def test_drain_and_resume(self):
        self.c.command("gpuadmin", "node", "drain", "n1", "--reason", "new kernel", user="root")
        self.assertEqual(self.row("n1")["state"], "drained")
        self.assertIn("new kernel", self.row("n1")["reason"])
        self.c.command("gpuadmin", "node", "resume", "n1", user="root")
        self.assertEqual(self.row("n1")["state"], "up")

    def test_reload_is_all_or_nothing(self):
        path = self.c.path("controller.toml")
        with open(path) as file:
            good = file.read()
        with open(path, "a") as file:
            file.write('[[queue]]\nname = "night"\ntime_max = "8h"\nnodez = []\n')
        result = self.c.command("gpuadmin", "reload", user="root", check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("nodez", result.stderr)
        with open(path, "w") as file:
            file.write(good + '[[queue]]\nname = "night"\ntime_max = "8h"\n')
        self.c.command("gpuadmin", "reload", user="root")
        queues = [
            row["name"] for row in self.c.json("gpuadmin", "queue", "list", user="root")["rows"]
        ]
        self.assertEqual(queues, ["night"])
        with open(path, "w") as file:
            file.write(good)
        self.c.command("gpuadmin", "reload", user="root")


if __name__ == "__main__":
    unittest.main(verbosity=2)
