"""import-slurm on a site of the tests' own: what it makes, what it says of the rest, bad lines."""
import csv
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import tomllib
import unittest

BIN = os.path.join(os.environ["MUSTER_BUILD"], "bin")
SOURCE = os.environ["MUSTER_SOURCE"]
PROGRAM = os.path.join(SOURCE, "contrib", "import-slurm")
SITE = os.path.join(SOURCE, "tests", "system", "slurm", "site")
PAGE = os.path.join(SOURCE, "docs", "man", "import-slurm.1")


def run(*words):
    return subprocess.run(
        [PROGRAM, *words], capture_output=True, text=True, check=False, timeout=60
    )


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.site = shutil.copytree(SITE, os.path.join(folder.name, "site"))
        self.out = os.path.join(folder.name, "out")

    def path(self, name):
        return os.path.join(self.site, name)

    def write(self, name, text, mode="w"):
        with open(self.path(name), mode, encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return file.read()

    def imported(self, *more):
        """The report; the configuration is one that gpuadmin takes."""
        result = run("--json", "--output", self.out, *more, self.path("slurm.conf"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        checked = subprocess.run(
            [os.path.join(BIN, "gpuadmin"), "config", "check", self.out + "/controller.toml"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return json.loads(result.stdout)

    def files(self):
        named = (("--dump", "dump.cfg"), ("--qos", "qos.txt"), ("--sshare", "sshare.txt"))
        return [word for option, name in named for word in (option, self.path(name))]

    def whole(self):
        return self.imported(*self.files())

    def refused(self, *expected, more=()):
        """Each line of the answer but the last names a file and a line; nothing was written."""
        result = run("--output", self.out, *more, self.path("slurm.conf"))
        self.assertEqual(result.returncode, 65, result.stdout + result.stderr)
        lines = result.stderr.strip().split("\n")
        self.assertEqual(len(lines), len(expected) + 1, result.stderr)
        for line, text in zip(lines, expected):
            self.assertRegex(line, r"^/\S+:\d+: ")
            self.assertIn(text, line)
        self.assertFalse(os.path.exists(self.out))

    def serve(self, config):
        """Starts a controller and ends it; what it logged until it served."""
        log = self.path("controller.log")
        with open(log, "wb") as file:
            argv = [os.path.join(BIN, "muster-controller"), "--config", config]
            daemon = subprocess.Popen(argv, stdout=file, stderr=file)
        try:
            deadline = time.monotonic() + 30
            while True:
                with open(log, encoding="utf-8") as file:
                    text = file.read()
                if "serving" in text:
                    return text
                self.assertIsNone(daemon.poll(), text)
                self.assertLess(time.monotonic(), deadline, text)
                time.sleep(0.05)
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)

    # What is made.

    def test_a_controller_takes_it(self):
        self.whole()
        text = self.read("controller.toml")
        text = text.replace("/var/lib/muster", self.path("state")) + "\n[listen]\n"
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
        for name, each in zip(("workers", "gateways", "bulk", "enrol"), sockets):
            text += f'{name} = "tcp://127.0.0.1:{each.getsockname()[1]}"\n'
            each.close()
        self.write("controller.toml", text)
        self.assertIn("serving", self.serve(self.path("controller.toml")))

    def test_numbers(self):
        counts = self.whole()["counts"]
        self.assertEqual(
            counts,
            {
                "queues": 5,
                "accounts": 4,
                "users": 5,
                "nodes": 9,
                "gpus": 52,
                "gpu_types": {"a100": 40, "v100": 12},
                "usage_rows": 7,
            },
        )
        made = tomllib.loads(self.read("controller.toml"))
        self.assertEqual(len(made["queue"]), counts["queues"])
        self.assertEqual(len(made["account"]), counts["accounts"])
        users = {name for account in made["account"] for name in account["users"]} - {"root"}
        self.assertEqual(len(users), counts["users"])
        nodes = list(csv.DictReader(self.read("nodes.csv").splitlines()))
        self.assertEqual(len(nodes), counts["nodes"])
        self.assertEqual(sum(int(node["gpus"]) for node in nodes), counts["gpus"])

    def test_queues(self):
        self.whole()
        made = tomllib.loads(self.read("controller.toml"))
        queues = {queue["name"]: queue for queue in made["queue"]}
        self.assertEqual(made["queue_default"], "day")
        self.assertEqual(
            queues["day"],
            {
                "name": "day",
                "priority": 1,
                "time_default": "1h",
                "time_max": "2d",
                "kill_wait": "1m",
            },
        )
        self.assertEqual(queues["urgent"]["priority"], 10)
        self.assertEqual(queues["urgent"]["time_max"], "4h")
        self.assertEqual(queues["urgent"]["nodes"], ["n[01-04,07]"])
        self.assertEqual(queues["urgent"]["accounts"], ["physics"])
        self.assertEqual(queues["long"]["accounts"], ["physics", "teaching", "vision"])
        self.assertEqual(queues["long"]["time_max"], "365d")
        self.assertIs(queues["closed"]["open"], False)
        self.assertIs(queues["lost"]["open"], False)

    def test_accounts_and_roles(self):
        self.whole()
        made = tomllib.loads(self.read("controller.toml"))
        accounts = {account["name"]: account for account in made["account"]}
        self.assertEqual(accounts["physics"]["shares"], 30)
        self.assertEqual(accounts["physics"]["users"], ["kim", "pat"])
        self.assertEqual(accounts["vision"]["parent"], "physics")
        self.assertEqual(accounts["vision"]["users"], ["ann", "kim", "lee"])
        self.assertEqual(accounts["teaching"]["users"], ["root"])  # Nobody, not everybody.
        self.assertEqual(made["roles"], {"admins": ["root"], "operators": ["pat"]})

    def test_settings(self):
        self.whole()
        made = tomllib.loads(self.read("controller.toml"))
        self.assertEqual(made["limits"], {"jobs_max": 50000, "array_elements_max": 10001})
        self.assertEqual(
            made["priority"],
            {
                "fair_share": 10000,
                "age": 1000,
                "size": 500,
                "age_max": "14d",
                "half_life": "7d",
                "cpu_milli": 62,
            },
        )
        weights = {weight["type"]: weight["milli"] for weight in made["gpu_weight"]}
        self.assertEqual(weights, {"a100": 1000, "v100": 250})

    def test_limits_and_qos(self):
        self.write("dump.cfg", "User - 'eve':MaxJobs=3:GrpTRES=gres/gpu=4,mem=9\n", "a")
        entries = self.whole()["entries"]
        made = tomllib.loads(self.read("controller.toml"))
        accounts = {account["name"]: account for account in made["account"]}
        self.assertEqual(accounts["physics"]["limits"], {"cpus": 400, "gpus": 16})
        self.assertEqual(accounts["physics"]["user_limits"], {"running_jobs": 50})
        self.assertEqual(made["user"], [{"name": "eve", "limits": {"running_jobs": 3, "gpus": 4}}])
        self.assertEqual([qos["name"] for qos in made["qos"]], ["normal", "high"])
        self.assertEqual(
            made["qos"][1],
            {
                "name": "high",
                "priority": 2000,
                "usage_milli": 2000,
                "accounts": ["physics", "vision"],
                "limits": {"gpus": 32, "gpu_minutes": 100000, "time_max": "1d"},
                "user_limits": {"gpus": 8, "running_jobs": 10, "queued_jobs": 40},
                "account_limits": {"gpus": 24},
            },
        )
        self.assertEqual(made["queue"][1]["limits"], {"gpus": 16})  # Of the partition's QOS.
        told = {(entry["place"], entry["what"]) for entry in entries}
        for wanted in (
            ("dump.cfg:11", "user kim, MaxSubmitJobs=20"),  # In two accounts.
            ("dump.cfg:13", "account vision, GrpTRESMins=gres/gpu=60000"),
            ("dump.cfg:19", "user eve, GrpTRES=mem=9"),
            ("qos.txt:3", "QOS high, maxtrespu=mem=512G"),
            ("qos.txt:5", "QOS unused"),
        ):
            self.assertIn(wanted, told)

    def test_preemption_by_qos(self):
        told = {(entry["place"], entry["what"]) for entry in self.whole()["entries"]}
        self.assertIn(("qos.txt:3", "QOS high, Preempt=normal"), told)
        self.assertNotIn("preempts", tomllib.loads(self.read("controller.toml"))["qos"][1])
        shutil.rmtree(self.out)
        with open(self.path("slurm.conf"), encoding="utf-8") as file:
            conf = file.read()
        self.write("slurm.conf", conf.replace("preempt/partition_prio", "preempt/qos"))
        with open(self.path("qos.txt"), encoding="utf-8") as file:
            lines = file.read().replace("|00:00:00|normal||", "|00:00:00|normal,unused|00:30:00|")
        self.write("qos.txt", lines)
        told = {(e["place"], e["what"], e["text"]) for e in self.whole()["entries"]}
        high = tomllib.loads(self.read("controller.toml"))["qos"][1]
        self.assertEqual((high["preempts"], high["preempt_after"]), (["normal"], "30m"))
        left = "those that are no [[qos]] were left out"
        self.assertIn(("qos.txt:3", "QOS high, Preempt=normal,unused", left), told)

    def test_switches_and_licences(self):
        self.write("topology.conf", "BlockName=b1 Nodes=cpu1\n")
        self.whole()
        made = tomllib.loads(self.read("controller.toml"))
        self.assertEqual(made["switch"], [{"name": "b1", "nodes": ["cpu1"], "block": True}])
        shutil.rmtree(self.out)
        shutil.copy(os.path.join(SITE, "topology.conf"), self.path("topology.conf"))
        self.whole()
        made = tomllib.loads(self.read("controller.toml"))
        self.assertEqual(
            made["licence"], [{"name": "matlab", "total": 10}, {"name": "ansys", "total": 4}]
        )
        self.assertEqual(
            made["switch"],
            [
                {"name": "leaf1", "nodes": ["n[01-04,07]"]},
                {"name": "leaf2", "nodes": ["old[1-3]", "cpu1"]},
                {"name": "spine", "switches": ["leaf[1-2]"]},
            ],
        )

    def test_workers_and_usage(self):
        self.whole()
        workers = self.read("workers.txt")
        self.assertIn("# On n[01-04,07]\n[resources]\ncpus_reserved = 8\n", workers)
        self.assertIn('memory_reserved = "8192M"\nfeatures = ["nvlink", "ib"]\n', workers)
        usage = list(csv.DictReader(self.read("usage.csv").splitlines()))
        parts = {(row["account"], row["user"]): int(row["part_ppm"]) for row in usage}
        self.assertEqual(parts[("vision", "ann")], 600000)
        self.assertEqual(sum(parts.values()), 1000000)
        for row in usage:
            self.assertNotEqual(row["account"], "root")
            self.assertGreater(int(row["gpu_seconds"]), 0)

    def test_every_setting_is_accounted_for(self):
        told = self.whole()["entries"]
        no_equal = {(e["place"], e["what"].split("=")[0].split(", ")[-1]) for e in told}
        for wanted in (
            ("slurm.conf:14", "JobSubmitPlugins"),
            ("slurm.conf:22", "PreemptType"),
            ("slurm.conf:25", "SchedulerParameters"),  # Continued over two lines.
            ("slurm.conf:27", "SiteSpecificThing"),
            ("slurm.conf:33", "GraceTime"),
            ("slurm.conf:34", "OverSubscribe"),
            ("nodes.conf:2", "Weight"),
            ("nodes.conf:3", "Gres"),
            ("dump.cfg:11", "MaxSubmitJobs"),
            ("dump.cfg:18", "Coordinator"),
        ):
            self.assertIn(wanted, no_equal)
        report = self.read("report.txt")
        for entry in told:
            self.assertIn(f"{entry['place']}: {entry['what']}: {entry['text']}\n", report)

    def test_without_a_dump(self):
        entries = self.imported()["entries"]
        made = tomllib.loads(self.read("controller.toml"))
        self.assertNotIn("account", made)
        self.assertIs({q["name"]: q for q in made["queue"]}["urgent"]["open"], False)
        self.assertTrue(any("give --dump" in entry["text"] for entry in entries))

    def test_values_beyond_what_muster_takes(self):
        self.write(
            "slurm.conf",
            "PriorityWeightFairshare=4000000\nPriorityFavorSmall=YES\nPriorityMaxAge=5\n"
            "PriorityDecayHalfLife=0\nMaxJobCount=99000000\n"
            "PartitionName=ages Nodes=n01 MaxTime=9999-0\n",
            "a",
        )
        self.write("dump.cfg", "Account - 'tiny':Fairshare=0\n", "a")
        entries = self.whole()["entries"]
        made = tomllib.loads(self.read("controller.toml"))
        priority = made["priority"]
        self.assertEqual((priority["fair_share"], priority["age"]), (1000000, 250))
        self.assertEqual((priority["size"], priority["age_max"]), (0, "1h"))
        self.assertEqual((priority["half_life"], made["limits"]["jobs_max"]), ("3650d", 10000000))
        self.assertEqual(made["queue"][-1]["time_max"], "3650d")
        self.assertEqual(made["account"][-1]["shares"], 1)
        differs = {entry["place"] for entry in entries if entry["kind"] == "differs"}
        self.assertLessEqual(
            {f"slurm.conf:{line}" for line in (37, 39, 40, 41, 42)} | {"dump.cfg:19"}, differs
        )

    def test_a_small_site(self):
        for name in ("gres.conf", "topology.conf", "nodes.conf"):
            os.remove(self.path(name))
        self.write("slurm.conf", "nodename=a cpus=2\nPARTITIONNAME=p NODES=all\n")
        self.assertEqual(self.imported()["counts"]["nodes"], 1)

    # Bad input.

    def test_malformed_lines_of_slurm_conf(self):
        self.write(
            "slurm.conf",
            "PriorityWeightAge=much\n"
            "this is no setting\n"
            "NodeName=m[3-1] CPUs=4\n"
            "NodeName=n01 CPUs=4\n"
            "NodeName=m[1-2 CPUs=4\n"
            "NodeName=m[1-999999999]\n"
            "NodeName=m1 RealMemory=-5 Gres=gpu:a:b:c\n"
            "PartitionName=p1 Nodes=n01 MaxTime=2d\n"
            "PartitionName=day Nodes=n01\n"
            "PartitionName=p2 Nodes=n01 State=AJAR\n"
            "KillWait=5 NodeName=m9\n"
            "Include nothing.conf\n"
            "Include slurm.conf\n",
            "a",
        )
        self.refused(
            ":37: PriorityWeightAge: 'much'",
            ":38: 'this' is not KEY=VALUE",
            ":39: NodeName: '[3-1]': a range runs backwards",
            ":40: NodeName: n01 stands at nodes.conf:2 already",
            ":41: NodeName: 'm[1-2': a bracket is not closed",
            ":42: NodeName: '[1-999999999]' has more than 100000 nodes",
            ":43: RealMemory: '-5'",
            ":43: Gres: 'gpu:a:b:c'",
            ":44: MaxTime: '2d' is not a time",
            ":45: PartitionName: day stands at slurm.conf:31 already",
            ":46: PartitionName: 'AJAR' is not one of UP, DOWN, DRAIN, INACTIVE",
            ":47: KillWait: NodeName must begin its line",
            ":48: Include nothing.conf: No such file",
            ":49: Include slurm.conf: the file includes itself",
        )

    def test_a_partition_of_unknown_nodes(self):
        self.write("slurm.conf", "PartitionName=p1 Nodes=nowhere\nPartitionName=p2 Nodes=a[\n", "a")
        self.refused(
            ":37: Nodes: no NodeName has nowhere", ":38: Nodes: 'a[': a bracket is not closed"
        )

    def test_malformed_lines_of_the_other_files(self):
        self.write("gres.conf", "NodeName=z9 Name=gpu\n", "a")
        self.write("topology.conf", "SwitchName=a Switches=a\nRackName=r\nSwitchName=b\n", "a")
        self.write(
            "dump.cfg",
            "Parent - 'nobody'\nUser = kim\nAccount - 'q':Fairshare=x\nAccount - 'r':GrpTRES=gpu\n",
            "a",
        )
        self.write("qos.txt", "broken|1\n", "a")
        self.write("sshare.txt", "physics|pat|1\n  physics|pat|1|0|many|0|0\n", "a")
        self.refused(
            "gres.conf:4: NodeName: slurm.conf has no node z9",
            "topology.conf:5: 'RackName' is neither",
            "topology.conf:6: SwitchName=b: has neither Nodes nor Switches",
            "topology.conf:4: a stands below itself",
            "dump.cfg:19: Parent nobody",
            "dump.cfg:20: 'User = kim' is not Cluster",
            "dump.cfg:21: 'x' is not a whole number",
            "dump.cfg:22: 'gpu' is not KIND=NUMBER",
            "qos.txt:6: has 2 columns, the header 26",
            "sshare.txt:9: has 3 columns, the header 7",
            "sshare.txt:10: RawUsage: 'many'",
            more=self.files(),
        )

    def test_files_and_options(self):
        self.assertEqual(run(self.path("slurm.conf")).returncode, 64)
        self.assertEqual(run("--output", self.out, self.path("no.conf")).returncode, 66)
        more = ("--dump", self.path("no.cfg"))
        self.assertEqual(run("--output", self.out, *more, self.path("slurm.conf")).returncode, 66)
        self.assertFalse(os.path.exists(self.out))
        words = ("--output", self.out, self.path("slurm.conf"))
        self.assertEqual(run(*words).returncode, 0)
        again = run(*words)
        self.assertEqual(again.returncode, 73)
        self.assertIn("--force", again.stderr)
        self.assertEqual(run("--force", *words).returncode, 0)

    def test_the_page_has_the_options(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read().replace("\\", "")
        shown = set(re.findall(r"^  (?:-h, )?--([a-z]+)", run("--help").stdout, re.MULTILINE))
        tags = set(re.findall(r"^\.TP\n\.B.*?--([a-z]+)", page, re.MULTILINE))
        self.assertEqual(shown, tags)


if __name__ == "__main__":
    unittest.main()
