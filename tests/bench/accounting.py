"""Benches of accounting: the feed catching up, usage over many jobs. Real PostgreSQL with fsync."""

import os
import subprocess
import time

from load import BENCH, ROOT, Cluster, emit

JOBS = 20000


class Database(Cluster):
    """A database with the schema, and nothing else."""

    def __init__(self):
        super().__init__(nodes=0, database=True)

    def start(self):
        os.environ["MUSTER_TEST_FSYNC"] = "on"
        try:
            self.start_database()
            self.migrate()
            return self
        except BaseException:
            self.stop()
            raise

    def feed(self, cluster):
        """Facts written and seconds taken."""
        out = subprocess.run(
            [os.path.join(BENCH, "bench_feed"), self.conninfo, cluster, str(JOBS)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        return int(out[0]), float(out[1])

    def psql(self, *words):
        argv = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.conninfo, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def bench_sql_catch_up():
    speeds = []
    with Database() as db:
        for number in range(5):
            rows, took = db.feed(f"c{number}")
            speeds.append(rows / took)
    note = f"{rows} facts of {JOBS} jobs a run, in the controller's batches, fsync on"
    emit("sql_catch_up", speeds, "rows/s", note=note)


def bench_usage_200k():
    values = []
    with Database() as db:
        db.feed("c")
        multiply = os.path.join(ROOT, "tests/bench/sql/multiply.sql")
        db.psql("-v", "cluster=c", "-f", multiply)
        jobs = db.psql("-c", "select count(*) from muster.submissions")
        for _ in range(10):
            begin = time.perf_counter()
            db.psql("-c", "set jit = off", "-c", "select count(*), sum(cost) from muster.usage")
            values.append(time.perf_counter() - begin)
    emit("usage_200k", values, "s", note=f"muster.usage of {jobs} jobs, psql's start included")
