"""muster-compactor, the program: sealed segments become a snapshot; damage is refused by name and
leaves everything as it was."""
import os
import shutil
import subprocess
import unittest

from cluster import BIN, Cluster

DAMAGED = 65


class Compactor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A state directory as a controller leaves it in its fourth life, not compacted yet."""
        cls.cluster = Cluster(nodes=1, gpus=0, database=False).start()
        cls.state = cls.cluster.path("state")
        for folder in ("journal", "snapshots"):
            os.makedirs(os.path.join(cls.state, folder))
        controller = cls.cluster.daemons["controller"]
        for life in range(4):
            for _ in range(5 if life < 3 else 0):
                cls.cluster.submit("--hold", "--", "true")
            controller.kill()
            cls.keep_segments(cls.cluster.path("controller/journal"))
            if life < 3:
                controller.start()

    @classmethod
    def keep_segments(cls, folder):
        for name in os.listdir(folder):
            shutil.copy(os.path.join(folder, name), os.path.join(cls.state, "journal"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.copy = self.cluster.path("copy")
        shutil.copytree(self.state, self.copy)

    def tearDown(self):
        shutil.rmtree(self.copy)

    def files(self, folder):
        return sorted(
            name
            for name in os.listdir(os.path.join(self.copy, folder))
            if name != "reserve" and not name.endswith(".new")
        )

    def run_it(self):
        return subprocess.run(
            [os.path.join(BIN, "muster-compactor"), "--state-dir", self.copy],
            capture_output=True,
            text=True,
            timeout=60,
        )

    def flip(self, folder, name, offset):
        with open(os.path.join(self.copy, folder, name), "r+b") as file:
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 0x40]))

    def refused(self, *words):
        before = self.files("snapshots"), self.files("journal")
        result = self.run_it()
        self.assertEqual(result.returncode, DAMAGED, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr.splitlines()[-1])
        self.assertEqual((self.files("snapshots"), self.files("journal")), before)

    def test_a_sound_journal_is_folded(self):
        result = self.run_it()
        self.assertEqual(result.returncode, 0, result.stderr)
        newest = int(self.files("snapshots")[-1].split("-")[1])
        last_segment = int(self.files("journal")[-1].split("-")[1])
        self.assertEqual(newest, last_segment - 1)
        verified = subprocess.run(
            [os.path.join(BIN, "muster-controller"), "--journal-verify", self.copy],
            capture_output=True,
            text=True,
        )
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertIn("15 jobs", verified.stdout)
        self.assertEqual(self.run_it().returncode, 0)  # Nothing is left to do.

    def test_a_damaged_segment_is_named_with_its_offset(self):
        first, *_ = self.files("journal")
        size = os.path.getsize(os.path.join(self.copy, "journal", first))
        for offset in (0, 20, 300):
            with self.subTest(offset=offset):
                self.assertLess(offset, size)
                self.flip("journal", first, offset)
                self.refused("muster-compactor: ", first)
                self.flip("journal", first, offset)
        self.assertEqual(self.run_it().returncode, 0)

    def test_a_missing_segment_is_named(self):
        os.unlink(os.path.join(self.copy, "journal", self.files("journal")[0]))
        self.refused("missing")

    def test_a_damaged_snapshot_is_named(self):
        self.assertEqual(self.run_it().returncode, 0)
        (name,) = self.files("snapshots")
        size = os.path.getsize(os.path.join(self.copy, "snapshots", name))
        for offset in (10, size // 2, size - 1):
            with self.subTest(offset=offset):
                self.flip("snapshots", name, offset)
                self.refused(name)
                self.flip("snapshots", name, offset)

    def test_no_state_is_an_error(self):
        shutil.rmtree(os.path.join(self.copy, "snapshots"))
        result = self.run_it()
        self.assertEqual(result.returncode, 69, result.stderr)
        self.assertIn(self.copy, result.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
