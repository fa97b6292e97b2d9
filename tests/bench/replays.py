"""Benches of gpusim replay: a trace under the production scheduling."""
import json
import lzma
import os
import subprocess
import tempfile

from load import BUILD, ROOT, emit

TRACE = os.path.join(ROOT, "tests/replay/traces/philly/philly_gpu_jobs.csv.xz")


def bench_replay_philly():
    """All 82,247 jobs on 72 nodes of 8 GPUs, run times learned on the way."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(lzma.open(TRACE).read())
        file.flush()
        words = [os.path.join(BUILD, "bin/gpusim"), "replay", "--file", file.name, "--json"]
        values = []
        for _ in range(3):
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            figures = json.loads(out)
            values.append(figures["seconds"])
        emit("replay_philly", values, "s", note=f"{figures['jobs']} jobs, policy muster")
