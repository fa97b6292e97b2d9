"""Jobs get cores near their GPUs: ranks, environment, cpusets, and a worker that is restarted."""
import ctypes
import os
import unittest

from cluster import IS_ROOT, Cluster, wait_for

REPORT = """#!/bin/bash
allowed() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status; }
echo "$LOCAL_RANK $MUSTER_CPU_LIST $(allowed)"
taskset -pc 0-1 $$ >/dev/null 2>&1
echo "$LOCAL_RANK after $(allowed)"
"""


def describe_machine(path):
    """Two NUMA nodes of one core each, as lstopo would write them."""
    hwloc = ctypes.CDLL("libhwloc.so.15")
    topology = ctypes.c_void_p()
    hwloc.hwloc_topology_init(ctypes.byref(topology))
    hwloc.hwloc_topology_set_synthetic(topology, b"pack:2 [numa] core:1 pu:1")
    hwloc.hwloc_topology_load(topology)
    hwloc.hwloc_topology_export_xml(topology, path.encode(), ctypes.c_ulong(0))
    hwloc.hwloc_topology_destroy(topology)


def has_cpusets():
    try:
        with open("/sys/fs/cgroup/cgroup.controllers") as file:
            return "cpuset" in file.read().split()
    except OSError:
        return os.path.exists("/sys/fs/cgroup/cpuset/cpuset.cpus")


@unittest.skipUnless({0, 1} <= os.sched_getaffinity(0), "needs CPUs 0 and 1")
class Pinning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, gpus=2, cpus=2, numa_nodes=2, database=False)
        cls.cluster.topology = cls.cluster.path("machine.xml")
        describe_machine(cls.cluster.topology)
        cls.cluster.start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def output_of(self, *words):
        job = self.cluster.submit(*words)
        self.cluster.wait_state(job, "ended")
        with open(os.path.join(self.cluster.home, f"muster-{job}.out")) as file:
            return sorted(file.read().splitlines())

    def test_ranks_are_pinned(self):
        script = self.cluster.script("report.sh", REPORT)
        lines = self.output_of("--gpus-per-node", "2", "--launch", "tasks", script)
        self.assertEqual([lines[0], lines[2]], ["0 0 0", "1 1 1"])
        # Only root's launcher has cpusets to confine them with.
        if IS_ROOT and has_cpusets():
            self.assertEqual([lines[1], lines[3]], ["0 after 0-1", "1 after 0-1"])
            script = self.cluster.script("one.sh", REPORT)
            lines = self.output_of("--gpus-per-node", "1", "--launch", "tasks", script)
            self.assertEqual(lines, ["0 0 0", "0 after 0"])

    def test_two_jobs_never_share_cores(self):
        script = self.cluster.script(
            "hold.sh", REPORT.replace("$LOCAL_RANK", "cpus") + "sleep 600\n"
        )

        def first_line(job):
            path = os.path.join(self.cluster.home, f"muster-{job}.out")
            if not os.path.exists(path):
                return ""
            with open(path) as file:
                return file.readline()

        first = self.cluster.submit("--gpus", "1", script)
        self.cluster.wait_state(first, "running")
        self.cluster.daemons["n1"].restart()
        second = self.cluster.submit("--gpus", "1", script)
        self.cluster.wait_state(second, "running")
        wait_for(lambda: first_line(first) and first_line(second), 20, "both to have said where")
        self.assertEqual(
            {first_line(first), first_line(second)}, {"cpus 0 0\n", "cpus 1 1\n"}
        )
        self.cluster.command("gpucancel", str(first), str(second))


if __name__ == "__main__":
    unittest.main()
