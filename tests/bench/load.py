"""What the benches share: clusters without nodes of their own, loads on them, the form of a line.

A bench makes its clusters itself, a fresh one wherever what was left by the run before would count,
so that benches may run in any number and order and on a machine of any speed.
"""
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILD = os.path.abspath(os.environ.setdefault("MUSTER_BUILD", os.path.join(ROOT, "build/release")))
os.environ.setdefault("MUSTER_SOURCE", ROOT)
sys.path.insert(0, os.path.join(ROOT, "tests/system/cluster"))
import cluster as harness  # noqa: E402
from cluster import Cluster, wait_for  # noqa: E402

BENCH = os.path.join(BUILD, "bench")
MANY = ["jobs_per_user_max = 10000000", "jobs_max = 10000000"]
FREE = [
    "--rate",
    "10000000",
    "--burst",
    "10000000",
    "--read-rate",
    "10000000",
    "--read-burst",
    "10000000",
]


def emit(name, values, unit, **more):
    ordered = sorted(values)
    line = {
        "name": name,
        "value": round(statistics.median(ordered), 3),
        "unit": unit,
        "n": len(ordered),
        "min": round(ordered[0], 3),
        "max": round(ordered[-1], 3),
        "build": "release",
    }
    line.update(more)
    print(json.dumps(line), flush=True)


class Load(Cluster):
    """A cluster without nodes of its own: its workers are simulated, or there are none."""

    def __init__(self, simulated=1, gpus=8, dead=0, limits=(), **more):
        super().__init__(
            nodes=0, database=False, gateway_options=FREE, limits=[*MANY, *limits], **more
        )
        self.simulated, self.simulated_gpus, self.dead = simulated, gpus, dead
        self.workers = None

    def write_controller_config(self, bare=False):
        super().write_controller_config(bare)
        if self.simulated and not bare:
            os.makedirs(self.path("sim"), exist_ok=True)
            tables = subprocess.run(
                [
                    os.path.join(BENCH, "bench_workers"),
                    "keys",
                    self.path("sim"),
                    str(self.simulated),
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            with open(self.path("controller.toml"), "a") as file:
                file.write(tables)

    def all_connected(self):
        self.connect_workers()
        return True

    def connect_workers(self):
        with open(self.path("controller/keys/transport.pub")) as file:
            server_key = file.read().strip()
        self.workers = subprocess.Popen(
            [
                os.path.join(BENCH, "bench_workers"),
                "run",
                self.path("sim"),
                str(self.simulated),
                f"tcp://127.0.0.1:{self.ports['workers']}",
                server_key,
                str(self.simulated_gpus),
                str(self.dead),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self.workers.stdout.readline()
        if line.strip() != "connected":
            raise harness.ClusterError(f"simulated workers: {line}")

    def end_workers(self):
        self.workers.stdin.close()
        facts = json.loads(self.workers.stdout.readline())
        self.workers.wait()
        self.workers = None
        return facts

    def stop(self):
        if self.workers is not None:
            self.workers.kill()
            self.workers.wait()
        super().stop()

    def as_user(self, *words):
        """The argument list that runs a program as the owner of the jobs."""
        argv = [*map(str, words)]
        if not harness.IS_ROOT:
            return argv
        ids = ["--reuid", str(self.user.pw_uid), "--regid", str(self.user.pw_gid)]
        return ["setpriv", *ids, "--init-groups", *argv]

    def start_load(self, *words):
        """A load that runs beside; its number comes out of load_result()."""
        return subprocess.Popen(
            self.as_user(os.path.join(BENCH, "bench_load"), *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "MUSTER_GATEWAY": self.gateway_socket},
        )

    def load_result(self, running):
        out, problem = running.communicate()
        if running.returncode != 0:
            raise harness.ClusterError(problem)
        return float(out)

    def load(self, *words):
        return self.load_result(self.start_load(*words))

    def controller_pid(self):
        return self.daemons["controller"].process.pid

    def resident_kib(self):
        with open(f"/proc/{self.controller_pid()}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))

    def status(self):
        return self.json("gpuadmin", "status", user="root")
