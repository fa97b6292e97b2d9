"""Wrong wall clocks: limits and leases do not follow them, durations stay true, and a node whose
clock is far off says so instead of running what it cannot check."""
import os
import struct
import time
import unittest

from cluster import BUILD, Cluster, wait_for

SHIM = os.path.join(BUILD, "tests", "libwrong_clock.so")
DAY = 24 * 3600


class ClockCluster(Cluster):
    """Each daemon reads a clock of its own; step() makes it wrong by that many seconds."""

    def start(self):
        for name in ("controller", *self.nodes, *(node + ".launcher" for node in self.nodes)):
            self.step(name, 0)
        return super().start()

    def clock(self, name):
        return self.path(name + ".clock")

    def step(self, name, seconds):
        if not os.path.exists(self.clock(name)):
            with open(self.clock(name), "wb") as file:
                file.write(struct.pack("=q", 0))
        with open(self.clock(name), "r+b") as file:
            file.write(struct.pack("=q", seconds))

    def step_all(self, seconds):
        for name in self.daemons:
            if name != "gateway":
                self.step(name, seconds)

    def add(self, daemon):
        super().add(daemon)
        if daemon.name != "gateway":
            daemon.extra = {"LD_PRELOAD": SHIM, "MUSTER_TEST_CLOCK": self.clock(daemon.name)}
            options = os.environ.get("ASAN_OPTIONS", "")
            daemon.extra["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"


class Clock(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ClockCluster().start()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        self.c.step_all(0)

    def usage(self, job):
        return wait_for(
            lambda: [row for row in self.c.accounting(job) if row["state"] == "ended"],
            20,
            "its accounting row",
        )[0]

    def test_the_whole_cluster_steps_by_a_day(self):
        for step in (DAY, -DAY):
            with self.subTest(step=step):
                self.c.step_all(0)
                job = self.c.submit("--gpus", "1", "--time", "1h", "--", "sleep", "6")
                self.c.wait_state(job, "running")
                self.c.step_all(step)
                other = self.c.submit("--gpus", "1", "--time", "1h", "--", "sleep", "1")
                for each in (job, other):
                    self.assertEqual(self.c.wait_end(each)["cause"]["kind"], "completed")
                    row = self.usage(each)
                    self.assertGreaterEqual(float(row["gpu_seconds"]), 0)
                    self.assertLess(float(row["gpu_seconds"]), 60)
                self.assertTrue(self.c.all_connected())

    def test_the_controller_steps_and_starts_again(self):
        job = self.c.submit("--time", "1h", "--", "sleep", "8")
        self.c.wait_state(job, "running")
        self.c.step("controller", -DAY)
        self.c.daemons["controller"].restart()
        self.assertEqual(self.c.state(job), "running")
        self.c.step("controller", 0)
        self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")

    def test_a_node_with_a_wrong_clock_says_so(self):
        for step, text in ((-DAY, "not valid yet"), (DAY, "expired")):
            with self.subTest(step=step):
                for node in self.c.nodes:
                    self.c.step(node + ".launcher", step)
                job = self.c.submit("--", "touch", f"ran{step}")
                shown = wait_for(lambda: self.says(job, "clock"), 30, "a word about the clock")
                self.assertIn(text, shown)
                for node in self.c.nodes:
                    self.c.step(node + ".launcher", 0)
                self.c.command("gpucancel", str(job))
                self.c.wait_end(job)
                self.assertFalse(os.path.exists(os.path.join(self.c.home, f"ran{step}")))

    def test_within_a_minute_it_does_not_matter(self):
        for step in (-40, 40):
            self.c.step_all(0)
            self.c.step("controller", step)
            job = self.c.submit("--", "true")
            self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")

    def says(self, job, word):
        text = self.c.command("gpuqueue", str(job), check=False).stdout
        return text if word in text else None

    def test_a_client_with_a_wrong_clock(self):
        self.c.step("client", -DAY)
        env = {"LD_PRELOAD": SHIM, "MUSTER_TEST_CLOCK": self.c.clock("client")}
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        job = self.c.submit("--", "true", env=env)
        self.assertEqual(self.c.wait_end(job)["cause"]["kind"], "completed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
