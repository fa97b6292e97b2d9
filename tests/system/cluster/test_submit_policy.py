"""A site's submit policy: a real program that sets, refuses, hangs, breaks and tries to get out."""
import json
import os
import subprocess
import time
import unittest

from cluster import IS_ROOT, Cluster, wait_for

POLICY = """#!/usr/bin/python3
import json, os, socket, subprocess, sys, time
with open(os.path.abspath(__file__) + ".d/mode") as file:
    mode = file.read().strip()
asked = json.load(sys.stdin)
jobs = asked["jobs"]

def tried(what, attempt):
    try:
        attempt()
        return what
    except OSError:
        return ""

def outside():
    keys, work = "@DIR@/controller/keys/transport.key", "@DIR@/work/x"
    done = [
        tried("read", lambda: os.listdir(os.path.dirname(keys))),
        tried("listed", lambda: os.listdir("@DIR@")),
        tried("wrote", lambda: open(work, "w").write("x")),
        tried("wrote-tmp", lambda: open("/tmp/policy-was-here", "w").write("x")),
        tried("connected", lambda: socket.create_connection(("127.0.0.1", @PORT@), 1)),
        tried("signalled", lambda: os.kill(@CONTROLLER@, 0)),
        tried("socket", lambda: socket.socket(socket.AF_UNIX)),
        "root" if os.getuid() == 0 else "",
        "environment" if set(os.environ) - {"LC_CTYPE"} else "",
    ]
    return " ".join(filter(None, done)) or "nothing"

if mode == "hang":
    subprocess.Popen(["/bin/sleep", "271.5"], start_new_session=True)
    time.sleep(271.5)
elif mode == "garbage":
    print("I have no opinion")
elif mode == "flood":
    while True:
        print("x" * 65536)
elif mode == "crash":
    sys.exit("the table of groups is missing")
elif mode == "nowhere":
    print(json.dumps({"jobs": [{"account": "nowhere"} for job in jobs]}))
elif mode == "outside":
    print(json.dumps({"refuse": "did " + outside()}))
else:
    gpus = sum(g["nodes_max"] * g["gpus_per_node"] for job in jobs for g in job["spec"]["groups"])
    if gpus > 8:
        print(json.dumps({"refuse": asked["user"] + ": more than 8 GPUs, ask support first"}))
    else:
        edits = [{} if job["spec"]["account"] else {"account": "vision"} for job in jobs]
        print(json.dumps({"jobs": edits}))
"""
CONFIG = """[submit_policy]
program = "@PROGRAM@"
timeout = "2s"
[[account]]
name = "research"
[[account]]
name = "vision"
"""


def sleepers():
    """Processes of the hanging policy, by their argument."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if "sleep 271.5" in line]


class SubmitPolicy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=16, cpus=32, database=False)
        cls.program = cls.cluster.path("policy")
        os.mkdir(cls.program + ".d")
        cls.cluster.config_extra = CONFIG.replace("@PROGRAM@", cls.program)
        cls.set_mode("normal")
        cls.cluster.start()
        cls.script = cls.cluster.script("job.sh", "#!/bin/sh\n")
        text = POLICY.replace("@DIR@", cls.cluster.dir)
        text = text.replace("@PORT@", str(cls.cluster.ports["gateways"]))
        controller = cls.cluster.daemons["controller"].process.pid
        text = text.replace("@CONTROLLER@", str(controller))
        with open(cls.program, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(cls.program, 0o755)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    @classmethod
    def set_mode(cls, mode):
        with open(cls.program + ".d/mode", "w", encoding="utf-8") as file:
            file.write(mode + "\n")

    def submit(self, mode, *words):
        self.set_mode(mode)
        return self.cluster.command(
            "gpusubmit", "--hold", "--timeout", "3s", *words, self.script, check=False
        )

    def fails(self, mode, code, *words):
        before = self.jobs()
        result = self.submit(mode, *words)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(self.jobs(), before)
        return result.stderr

    def jobs(self):
        return {row["job"]: row for row in self.cluster.json("gpuqueue", "--all")["rows"]}

    def log(self):
        with open(self.cluster.path("controller.log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def audited(self, what):
        with open(self.cluster.path("controller/audit.jsonl"), encoding="utf-8") as file:
            return [entry for entry in map(json.loads, file) if what in entry["what"]]

    def test_sets_a_default_and_says_so(self):
        result = self.submit("normal", "--gpus", "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the site's policy set account to vision", result.stderr + result.stdout)
        job = max(self.jobs())
        self.assertEqual(self.jobs()[job]["account"], "vision")
        own = self.submit("normal", "--gpus", "4", "--account", "research")
        self.assertNotIn("policy", own.stderr + own.stdout)
        self.assertEqual(self.jobs()[max(self.jobs())]["account"], "research")
        noted = self.audited("set account to vision")
        self.assertTrue(noted and noted[0]["verb"] == "submit-policy" and noted[0]["allowed"])

    def test_a_dry_run_shows_the_edit(self):
        before = self.jobs()
        result = self.submit("normal", "--dry-run", "--gpus", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the site's policy set account to vision", result.stderr + result.stdout)
        self.assertEqual(self.jobs(), before)
        self.assertIn("more than 8", self.fails("normal", 67, "--dry-run", "--gpus", "9"))

    def test_refuses_with_its_line(self):
        told = self.fails("normal", 67, "--gpus", "9")
        self.assertIn(f"{self.cluster.user.pw_name}: more than 8 GPUs, ask support first", told)
        noted = self.audited("more than 8 GPUs")
        self.assertTrue(noted and not noted[0]["allowed"])

    def test_what_it_sets_is_admitted_like_a_users_wish(self):
        self.assertIn("no account nowhere", self.fails("nowhere", 66))

    def test_a_program_that_hangs_holds_up_nobody_else(self):
        self.set_mode("hang")
        words = [os.path.join(os.environ["MUSTER_BUILD"], "bin", "gpusubmit"), "--timeout", "3s"]
        environment = {**os.environ, "MUSTER_GATEWAY": self.cluster.gateway_socket}
        if IS_ROOT:
            words = ["setpriv", "--reuid", str(self.cluster.user.pw_uid), "--clear-groups"] + words
        waiting = [
            subprocess.Popen(
                words + ["--hold", self.script],
                cwd=self.cluster.home,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for _ in range(6)
        ]
        wait_for(sleepers, 10, "the policy to hang")
        begun = time.monotonic()
        self.cluster.command("gpuqueue")
        self.cluster.command("gpuadmin", "ping", user="root")
        self.assertLess(time.monotonic() - begun, 1.5)
        told = [each.communicate(timeout=30)[0] for each in waiting]
        self.assertEqual([each.returncode for each in waiting], [75] * len(waiting), told)
        self.assertTrue(any(b"try again" in text for text in told), told)  # Some were in line.
        wait_for(lambda: not sleepers(), 10, "the policy's processes to be gone")
        self.assertIn("did not answer within 2s", self.log())
        self.assertEqual(self.submit("normal").returncode, 0)

    def test_programs_that_answer_nothing_useful(self):
        for mode, why in (
            ("garbage", "answered with nonsense: not a JSON object"),
            ("flood", "wrote more than 4 MiB"),
            ("crash", "ended with 1 (the table of groups is missing)"),
        ):
            with self.subTest(mode=mode):
                self.assertIn("try again", self.fails(mode, 75))
                self.assertIn(why, self.log())

    def test_it_cannot_get_out(self):
        self.assertIn("did nothing", self.fails("outside", 67))
        self.assertFalse(os.path.exists("/tmp/policy-was-here"))

    def test_a_reload_lets_jobs_pass_or_forgets_the_policy(self):
        path = self.cluster.path("controller.toml")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        try:
            self.reload(before.replace('timeout = "2s"', 'timeout = "2s"\non_failure = "allow"'))
            passed = self.submit("garbage")
            self.assertEqual(passed.returncode, 0, passed.stderr)
            self.assertIn("policy failed and was passed over", passed.stderr + passed.stdout)
            self.reload(before.replace(self.program, self.program + ".none"))
            self.assertIn("try again", self.fails("normal", 75))
            self.assertIn("No such file or directory", self.log())
            self.reload(before.replace(self.program, ""))
            self.assertEqual(self.submit("garbage", "--gpus", "9").returncode, 0)
        finally:
            self.reload(before)

    def reload(self, text):
        with open(self.cluster.path("controller.toml"), "w", encoding="utf-8") as file:
            file.write(text)
        self.cluster.command("gpuadmin", "reload", user="root")


if __name__ == "__main__":
    unittest.main()
