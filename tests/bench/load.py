"""What the benches share: clusters without nodes of their own, loads on them, the form of a line.

A bench makes its clusters itself, a fresh one wherever what was left by the run before would count,
so that benches may run in any number and order and on a machine of any speed.
"""
import json
import os
import re
import signal
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
    """A cluster without nodes of its own: its workers are simulated, or there are none.

    `processes` run the simulated workers; `options` are words of bench_workers run.
    """

    def __init__(self, simulated=1, processes=1, options=(), limits=(), **more):
        super().__init__(
            nodes=0, database=False, gateway_options=FREE, limits=[*MANY, *limits], **more
        )
        self.simulated, self.processes = simulated, processes
        self.options = list(options)
        self.workers = []

    def write_controller_config(self, bare=False):
        super().write_controller_config(bare)
        if bare:
            return
        os.makedirs(self.path("sim"), exist_ok=True)
        tables = subprocess.run(
            [os.path.join(BENCH, "bench_workers"), "keys", self.path("sim")]
            + [str(self.simulated)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        with open(self.path("controller.toml"), "a") as file:
            file.write(tables)

    def all_connected(self):
        with open(self.path("controller/keys/transport.pub")) as file:
            server_key = file.read().strip()
        share = self.simulated // self.processes
        for index in range(self.processes):
            argv = [os.path.join(BENCH, "bench_workers"), "run", f"dir={self.path('sim')}"]
            argv += [f"endpoint=127.0.0.1:{self.ports['workers']}", f"server={server_key}"]
            argv += [f"first={1 + index * share}", f"count={share}"]
            argv += self.options
            self.workers.append(
                subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for worker in self.workers:
            line = worker.stdout.readline()
            if line.strip() != "connected":
                raise harness.ClusterError(f"simulated workers: {line}")
        return True

    def worker_counts(self):
        """What the simulated workers did so far, summed."""
        for worker in self.workers:
            worker.stdin.write("?")
            worker.stdin.flush()
        return self.sum_counts()

    def sum_counts(self):
        total = {}
        for worker in self.workers:
            for name, count in json.loads(worker.stdout.readline()).items():
                total[name] = total.get(name, 0) + count
        return total

    def end_workers(self):
        for worker in self.workers:
            worker.stdin.close()
        total = self.sum_counts()
        for worker in self.workers:
            worker.wait()
        self.workers = []
        return total

    def stop(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.workers = []
        super().stop()

    def events(self):
        """Ends the controller; every event of its journal, with the engine's clock as `at_ms`."""
        self.daemons["controller"].kill(signal.SIGTERM)
        text = self.run_program("gpuadmin", "journal", "cat", self.path("controller")).stdout
        records = [json.loads(line) for line in text.splitlines()]
        return [{**one, "at_ms": each["at"] / 1000} for each in records for one in each["events"]]

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
