"""Benches of orders to many simulated workers. Times are the engine's own, out of the journal: from
the record that decided to the record in which the last worker's answer arrived."""

from load import Load, emit, wait_for

NODES = 500
GANG = ["--nodes", str(NODES), "--gpus-per-node", "8", "--launch", "tasks", "--output", "/dev/null"]
PREPARE_TIMEOUT_S = 5


def emit_latencies(name, values, note):
    """value: p50, max: p99, by nearest rank."""
    ordered = sorted(values)
    p99 = ordered[max(0, -(-len(ordered) * 99 // 100) - 1)]
    emit(name, values, "ms", max=round(p99, 3), note=f"value p50, max p99; {note}")


def nodes_up(c):
    rows = c.json("gpuinfo", user="root")["rows"]
    return sum(1 for row in rows if row["connected"] and row["state"] == "up")


def run_gangs(c, count):
    """Runs so many gangs of 500 nodes one after the other; their job ids."""
    script = c.script("g.sh", "#!/bin/sh\ntrue\n")
    jobs = []
    for _ in range(count):
        jobs.append(c.submit(*GANG, script))
        wait_for(lambda: c.state(jobs[-1]) == "ended", 120, "the gang to end")
    return jobs


def gang_times(events, jobs):
    """For each job: ms from the decision on its first attempt to the end of its last one."""
    begun, over, attempts = {}, {}, {}
    for event in events:
        if event["type"] == "AttemptStarted":
            begun.setdefault(event["key"]["job"], event["at_ms"])
            attempts[event["key"]["job"]] = event["key"]["attempt"]
        elif event["type"] == "AttemptEnded":
            over[event["key"]["job"]] = event["at_ms"]
    return [over[job] - begun[job] for job in jobs], [attempts[job] for job in jobs]


def bench_gang_launch_500():
    with Load(simulated=NODES) as c:
        jobs = run_gangs(c, 100)
        times, attempts = gang_times(c.events(), jobs)
    assert set(attempts) == {1}, attempts
    emit_latencies(
        "gang_launch_500",
        times,
        "4,000 ranks on 500 nodes, all alive: placed, prepared, launched, and the last node's "
        "report of its ranks back",
    )


def bench_gang_launch_500_dead():
    """A node of the gang hangs when the orders arrive; the next gang finds it back."""
    back_s = 2 * PREPARE_TIMEOUT_S
    with Load(
        simulated=NODES + 1,
        options=["hangs=1", f"hangs_for={back_s}"],
        limits=[f'prepare_timeout = "{PREPARE_TIMEOUT_S}s"'],
    ) as c:
        jobs = []
        for _ in range(10):
            jobs += run_gangs(c, 1)
            wait_for(lambda: nodes_up(c) == NODES + 1, 60, "the hung node to be back")
        times, attempts = gang_times(c.events(), jobs)
    emit_latencies(
        "gang_launch_500_dead",
        times,
        f"501 nodes, one of the gang's 500 hangs at its order: from the first decision over "
        f"{PREPARE_TIMEOUT_S} s of waiting for it (prepare_timeout; 30 s by default), the abort "
        f"and a second place without it to the last report; attempts {sorted(set(attempts))}",
    )


def bench_gang_launch_500_lost():
    """The dead node is known to be dead: what it still costs."""
    with Load(
        simulated=NODES + 1,
        options=["hangs=1"],
        limits=[f'prepare_timeout = "{PREPARE_TIMEOUT_S}s"'],
    ) as c:
        run_gangs(c, 1)
        wait_for(lambda: nodes_up(c) == NODES, 60, "the silent node to be suspect")
        jobs = run_gangs(c, 100)
        times, attempts = gang_times(c.events(), jobs)
    assert set(attempts) == {1}, attempts
    emit_latencies(
        "gang_launch_500_lost", times, "as gang_launch_500, beside a 501st node that is dead"
    )


FAN = 10000


def span_ms(events, first, last):
    """For every round of FAN attempts: from its first event of one type to its last of another."""
    begun = [event["at_ms"] for event in events if event["type"] == first]
    over = [event["at_ms"] for event in events if event["type"] == last]
    assert len(begun) == len(over) and len(begun) % FAN == 0, (len(begun), len(over))
    return [over[i + FAN - 1] - begun[i] for i in range(0, len(begun), FAN)]


def bench_fanout_10k():
    """10,000 jobs, one on each of 10,000 workers, are started, and cancelled."""
    with Load(simulated=FAN, processes=4, options=["holds=1", "gpus=1"]) as c:
        for turn in range(1, 6):
            c.load("submit", FAN, "held", 1)
            c.command("gpujob", "release", "--all")
            wait_for(lambda: c.worker_counts()["launched"] == turn * FAN, 60, "all to run")
            c.command("gpucancel", "--all")
            wait_for(lambda: c.status()["jobs_running"] == 0, 60, "all to end")
        events = c.events()
    emit(
        "fanout_10k",
        span_ms(events, "AttemptStopping", "AttemptEnded"),
        "ms",
        note="one cancel: kill orders to 10,000 workers over CURVE, from the decision to the last "
        "worker's report that nothing runs any more; 4 processes on the same machine play them",
    )
    emit(
        "fanout_10k_launch",
        span_ms(events, "AttemptStarted", "AttemptLaunched"),
        "ms",
        note="10,000 signed orders with their scripts, from the first decision to the last "
        "worker's report that it is prepared",
    )
