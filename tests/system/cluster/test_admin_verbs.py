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

    def admin(self, *words):
        return self.cluster.command("gpuadmin", *words, user="root")

    def objects(self, kind):
        rows = self.cluster.json("gpuadmin", kind, "list", user="root")["rows"]
        return {row["name"]: row for row in rows}

    def settings(self, kind, name):
        row = self.objects(kind)[name]
        return {one["key"]: one["value"] for one in row["settings"]}

    def test_changes_objects_at_run_time_and_keeps_them(self):
        self.admin("account", "add", "speech", "shares=3", "limits.gpus=4")
        self.admin("qos", "add", "gold", "priority=100", "accounts=speech")
        self.admin("limit", "set", "user", "*", "running_jobs=7")
        self.admin("limit", "set", "qos", "gold", "gpus=2", "user.time_max=2h")
        self.admin("queue", "add", "night", "time_max=12h", "nodes=n[1-2],n4")
        self.assertEqual(self.settings("qos", "gold")["user_limits.time_max"], '"2h"')
        self.assertEqual(self.settings("user", "*"), {"limits.running_jobs": "7"})
        reloaded = self.admin("reload")
        self.assertIn("read again", reloaded.stdout)
        self.cluster.daemons["controller"].restart()
        self.assertEqual(self.settings("qos", "gold")["limits.gpus"], "2")
        self.assertTrue(self.objects("qos")["gold"]["at_run_time"])
        exported = self.admin("config", "export").stdout
        self.assertIn('[[account]]\nname = "speech"\nshares = 3\nlimits.gpus = 4\n', exported)
        listed = self.admin("limit", "list").stdout
        self.assertIn("user.time_max", listed)
        self.admin("limit", "remove", "qos", "gold")
        self.assertEqual(set(self.settings("qos", "gold")), {"priority", "accounts"})
        self.admin("reload", "--force")
        self.assertEqual(self.objects("qos"), {})
        with open(self.cluster.path("controller/audit.jsonl")) as file:
            self.assertIn("qos set gold limits.gpus=2", file.read())

    def test_licences(self):
        self.admin("licence", "add", "matlab", "total=2")
        script = self.cluster.script("licensed.sh", "#!/bin/sh\nsleep 600\n")
        job = self.cluster.submit("--licences", "matlab:2", script)
        self.cluster.wait_state(job, "running")
        rows = self.cluster.json("gpuinfo", "--licences")["rows"]
        self.assertEqual(rows, [{"name": "matlab", "total": 2, "used": 2, "free": 0}])
        waits = self.cluster.submit("--licences", "matlab:1", script)
        self.admin("licence", "set", "matlab", "total=3")
        self.cluster.wait_state(waits, "running")
        table = self.cluster.command("gpuinfo", "-l").stdout.split()
        self.assertEqual(table, ["LICENCE", "TOTAL", "USED", "FREE", "matlab", "3", "3", "0"])
        error = self.fails("gpuadmin", "licence", "remove", "matlab")
        self.assertIn(f"licence matlab cannot be removed: 2 jobs use it ({job}, {waits})", error)
        self.admin("reload")
        self.assertEqual(self.settings("licence", "matlab"), {"total": "3"})
        exported = self.admin("config", "export").stdout
        self.assertIn('[[licence]]\nname = "matlab"\ntotal = 3\n', exported)
        self.cluster.command("gpucancel", str(job), str(waits))
        wait_for(lambda: not self.cluster.json("gpuqueue")["rows"], 40, "the jobs to end")
        self.admin("licence", "remove", "matlab")
        self.assertEqual(self.cluster.json("gpuinfo", "--licences")["rows"], [])
        self.assertIn("leave NODES out", self.fails("gpuinfo", "--licences", "n1"))

    def test_refuses_wrong_objects_in_one_line(self):
        def one_line(part, *words):
            error = self.fails("gpuadmin", *words)
            self.assertIn(part, error)
            self.assertEqual(error.count("\n"), 1, error)

        one_line("prioriti", "queue", "add", "dusk", "time_max=1h", "prioriti=1")
        one_line("has no time limit", "queue", "add", "dusk")
        one_line("whole number from 1", "account", "add", "a", "shares=-1")
        one_line("whole number from 1", "account", "add", "a", "shares=99999999999999999999")
        one_line("whole number from 0", "limit", "set", "user", "kim", "gpus=nan")
        one_line("no account nobody", "account", "add", "a", "parent=nobody")
        one_line("there is no qos x", "qos", "remove", "x")
        one_line("is there already", "account", "add", "default")
        one_line("is not KEY=VALUE", "account", "add", "a", "shares")
        one_line("there is no account default", "account", "remove", "default")
        if IS_ROOT:
            self.assertIn(
                "not an administrator",
                self.fails("gpuadmin", "limit", "set", "user", "kim", "gpus=9", user=None),
            )

    def test_takes_over_usage_that_was_counted_elsewhere(self):
        me = self.cluster.user.pw_name
        lines = f"user,x,account,gpu_seconds\n{me},9,default,7200\n"
        path = self.cluster.script("usage.csv", lines)
        self.assertIn("usage of 1 user", self.admin("usage", "import", path).stdout)

        def shares():
            rows = self.cluster.json("gpuinfo", "--shares", user="root")["rows"]
            return {row["user"]: row["used_ppm"] for row in rows if row["user"]}

        self.assertEqual(shares().get(me), 1000000)
        self.admin("usage", "set", "default", "root", "7200")
        self.assertAlmostEqual(shares()[me], 500000, delta=1000)
        self.cluster.daemons["controller"].restart()
        self.assertAlmostEqual(shares()[me], 500000, delta=1000)

        def refused(part, *words):
            error = self.fails("gpuadmin", "usage", *words)
            self.assertIn(part, error)
            self.assertEqual(error.count("\n"), 1, error)

        refused("no account nosuch", "set", "nosuch", "root", "1")
        refused("GPU-seconds", "set", "default", "root", "1.5")
        head = "account,user,gpu_seconds\n"
        bad = self.cluster.script("bad.csv", head + "default,root,1\n\ndefault,root\n")
        refused("bad.csv:4: 2 fields where the header has 3", "import", bad)
        bad = self.cluster.script("who.csv", head + "default,no-such-user,1\n")
        refused("who.csv:2: ", "import", bad)
        bad = self.cluster.script("head.csv", "account,user\n")
        refused("head.csv:1: the header must name account, user and gpu_seconds", "import", bad)
        self.assertAlmostEqual(shares()[me], 500000, delta=1000)
        if IS_ROOT:
            error = self.fails("gpuadmin", "usage", "set", "default", "root", "1", user=None)
            self.assertIn("not an administrator", error)
        self.admin("usage", "set", "default", "root", "0")
        self.admin("usage", "set", "default", me, "0")

    def test_does_not_remove_what_jobs_use(self):
        self.admin("qos", "add", "busy")
        self.admin("account", "add", "top")
        self.admin("account", "add", "below", "parent=top")
        self.assertIn("circle", self.fails("gpuadmin", "account", "set", "top", "parent=below"))
        self.assertIn("no account top", self.fails("gpuadmin", "account", "remove", "top"))
        script = self.cluster.script("w.sh", "#!/bin/sh\nsleep 60\n")
        job = self.cluster.submit("--qos", "busy", "--account", "below", "--hold", script)
        error = self.fails("gpuadmin", "qos", "remove", "busy")
        self.assertIn(f"qos busy cannot be removed: 1 job uses it ({job})", error)
        self.cluster.command("gpujob", "set", str(job), "qos=")
        self.admin("qos", "remove", "busy")
        self.cluster.command("gpucancel", str(job))
        self.admin("account", "remove", "below")
        self.admin("account", "remove", "top")

    def test_a_limit_blocks_and_lets_go(self):
        self.admin("limit", "set", "user", "*", "running_jobs=1")
        script = self.cluster.script("s.sh", "#!/bin/sh\nsleep 600\n")
        first = self.cluster.submit(script)
        self.cluster.wait_state(first, "running")
        second = self.cluster.submit(script)
        why = self.cluster.json("gpuqueue", "--why", str(second))
        self.assertEqual(why["reason"], "user-limit")
        self.assertIn("may run 1 job at once", why["sentence"])
        turns = self.cluster.json("gpuqueue", "--all", "--priority")["rows"]
        self.assertEqual([row["job"] for row in turns], [second])
        shares = self.cluster.json("gpuinfo", "--shares")
        self.assertTrue(shares["own"])
        self.admin("limit", "remove", "user", "*", "running_jobs")
        self.cluster.wait_state(second, "running")
        self.cluster.command("gpucancel", str(first), str(second))

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
