"""Bad input against real daemons: one clear line, an exit code, and nothing has changed."""
import os
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cluster"))
from cluster import BIN, Cluster  # noqa: E402

USAGE, INVALID, NOT_FOUND, CONFLICT, CONFIG = 64, 65, 66, 67, 78
FRAME_DATA_MAX = 256 * 1024
QUEUES = '[[queue]]\nname = "main"\ntime_max = "2h"\n[[account]]\nname = "lab"\n'

# Words of gpusubmit, its exit code, what its one line says.
SUBMITS = [
    (["--node", "2"], USAGE, "unknown option --node; did you mean --nodes?"),
    (["--gpu-per-node", "2"], USAGE, "did you mean --gpus-per-node?"),
    (["-N", "2"], USAGE, "unknown option -N; --help lists all"),
    (["--nodes"], USAGE, "--nodes: needs a value; for example"),
    (["--nodes", "0"], USAGE, "the least is 1"),
    (["--nodes", "-1"], USAGE, "negative"),
    (["--nodes", "2x"], USAGE, 'unexpected "x" at character 2'),
    (["--nodes", "99999999999999999999"], USAGE, "too large"),
    (["--gpus", "0"], USAGE, "--gpus"),
    (["--gpus", "-4"], USAGE, "negative"),
    (["--gpus", "4294967297"], USAGE, "too large"),
    (["--cpus-per-task", "18446744073709551617"], USAGE, "too large"),
    (["--mem", "0M"], USAGE, "zero"),
    (["--mem", "-1G"], USAGE, "negative"),
    (["--mem", "12Q"], USAGE, "--mem"),
    (["--mem", "99999999999999T"], USAGE, "too large"),
    (["--time", "0"], USAGE, "zero"),
    (["--time", "-5m"], USAGE, "--time"),
    (["--time", "soon"], USAGE, "is not a time such as"),
    (["--time", "99999999999d"], USAGE, "limit is 3650 days"),
    (["--array", "5-1"], USAGE, "runs backwards"),
    (["--array", "0-99999999"], USAGE, "limit"),
    (["--ports", "64"], USAGE, "limit is 63"),
    (["--timeout", "never"], USAGE, "--timeout"),
    (["--tasks", "5", "--nodes", "2", "--gpus", "3"], USAGE, "gpusubmit: "),
    (["--name", "a\tb"], USAGE, "cannot be printed"),
    (["--name", "a\x1b[31m"], USAGE, "cannot be printed"),
    (["--name", "a" * 129], USAGE, "has 129 bytes; the limit is 128"),
    (["--output", "x%q"], USAGE, "known are %j"),
    (["--queue", "nope"], NOT_FOUND, "there is no queue nope"),
    (["--queue", "mian"], NOT_FOUND, "did you mean main?"),
    (["--account", "labb"], NOT_FOUND, "did you mean lab?"),
    (["--time", "3h"], INVALID, "2h"),
    (["--gpus-per-node", "5"], INVALID, "can never run"),
    (["--launch", "tasks", "--nodes", "3", "--gpus", "3"], INVALID, "can never run"),
    (["--gpus", "200"], INVALID, "can never run"),
    (["--gpus", "1000"], USAGE, "--gpus 1000 comes to 1000 GPUs on a node; at most 256"),
    (["--gpu-type", "h200", "--gpus", "1"], INVALID, "can never run"),
    (["--mem", "900G"], INVALID, "can never run"),
    (["--chdir", "/nonexistent"], USAGE, "cannot be entered: No such file or directory; choose"),
    (["--chdir", "/etc/passwd"], USAGE, "is no directory"),
    (["--output", "/nonexistent/x"], USAGE, "make it, or add --mkdir"),
]

# What a script holds, and what the one line about it says.
SCRIPTS = [
    (b"", "the script is empty"),
    (b"#!/bin/sh\r\ntrue\r\n", ":1: the line ends in CR LF (Windows): convert the file"),
    (b"#!/bin/sh\ntrue\n\0\n", ":3: a NUL byte"),
    (b"\x7fELF\x02\x01\x01\0\0", "a NUL byte: this is no text file; run a program with"),
    (b"#!/bin/sh\n" + b"#" * (1 << 20), "larger than 1 MiB"),
    (b"true\n", ":1: no interpreter: the first line must begin with #!"),
    (b"#!/bin/sh\n#GPU --gpu 2\ntrue\n", ":2: unknown option --gpu; did you mean --gpus?"),
    (b"#!/bin/sh\n\n#GPU --nodes 0\ntrue\n", ":3: --nodes: "),
]

# Other commands.
COMMANDS = [
    (["gpuqueue", "--al"], USAGE, "did you mean --all?"),
    (["gpuqueue", "12x"], USAGE, "12x"),
    (["gpuqueue", "-1"], USAGE, "-1"),
    (["gpuqueue", "99999999999999999999999"], USAGE, "99999999999999999999999"),
    (["gpuqueue", "424242"], NOT_FOUND, "no job 424242 is in the queue; ended jobs are listed by"),
    (["gpuacct", "--user", "nobody-of-that-name"], CONFLICT, "users see their own jobs only"),
    (["gpuacct", "--since", "yesterdayish"], USAGE, "--since"),
    (["gpucancel"], USAGE, "gpucancel: "),
    (["gpucancel", "--user", "nobody-of-that-name"], NOT_FOUND, "nobody-of-that-name"),
    (["gpucancel", "--signal", "SIGNOPE", "1"], USAGE, "--signal"),
    (["gpujob", "hodl", "1"], USAGE, "did you mean hold?"),
    (["gpujob", "hold", "424242"], NOT_FOUND, "there is no job 424242"),
    (["gpujob", "set", "1", "tmie=5m"], USAGE, "did you mean time?"),
    (["gpulogs", "--rank", "-1", "1"], USAGE, "negative"),
    (["gpulogs", "424242"], NOT_FOUND, "424242"),
    (["gpuinfo", "n77"], NOT_FOUND, "n77"),
    (["gpuadmin", "nodes"], USAGE, "did you mean node?"),
    (["gpuadmin", "node", "drian", "n1"], USAGE, "did you mean node drain?"),
]


def frame(data, flags=0, number=1, size=None):
    return struct.pack("<IBI", 5 + len(data) if size is None else size, flags, number) + data


def ping(verb=0):
    """Request {1: protocol 1, 2: number 7, 3: verb} in msgpack."""
    return b"\x83\x01\x01\x02\x07\x03" + (bytes([verb]) if verb < 128 else b"\xcc" + bytes([verb]))


FRAMES = {
    "truncated header": b"\x10\0",
    "truncated body": frame(b"abc", size=500),
    "a size of zero": frame(b"", size=0),
    "a size of 4 GiB": frame(b"", size=0xFFFFFFFF),
    "one byte over the largest": frame(b"", size=5 + FRAME_DATA_MAX + 1),
    "unknown flags": frame(ping(), flags=0xFE),
    "a message that never ends": frame(b"x" * FRAME_DATA_MAX, flags=1) * 300,
    "a million levels": b"".join(
        frame(b"\x91" * 250000, flags=1 if part < 3 else 0) for part in range(4)
    ),
    "an array of 2^32-1": frame(b"\xdd\xff\xff\xff\xff"),
    "a text instead of a map": frame(b"\xa4ping"),
    "a text instead of a verb": frame(b"\x83\x01\x01\x02\x07\x03\xa4ping"),
    "a negative number": frame(b"\x83\x01\x01\x02\xff\x03\x00"),
    "a float": frame(b"\x83\x01\x01\x02\xcb\x7f\xf0\0\0\0\0\0\0\x03\x00"),
    "an unknown verb": frame(ping(verb=99)),
    "another protocol": frame(b"\x83\x01\xcd\x03\xe7\x02\x07\x03\x00"),
    "a submit without a body": frame(ping(verb=2)),
    "bytes after the end": frame(ping() + b"\xc0"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(config_extra=QUEUES).start()
        cls.base = cls.cluster.submit("--hold", "--name", "stays", "--", "true")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def setUp(self):
        self.c = self.cluster
        self.before = self.rows()

    def tearDown(self):
        self.assertEqual(self.rows(), self.before, "something has changed")

    def rows(self):
        return [
            {key: row[key] for key in ("job", "state", "name", "priority", "queue")}
            for row in self.c.json("gpuqueue", "--all", "--ended", user="root")["rows"]
        ]

    def refused(self, status, text, program, *words, **options):
        """One line that begins with the program or the file, and says `text`."""
        result = self.c.command(program, *words, check=False, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)
        self.assertTrue(result.stderr.isprintable() or result.stderr[:-1].isprintable())

    def test_submits(self):
        for words, status, text in SUBMITS:
            with self.subTest(words=words):
                self.refused(status, text, "gpusubmit", *words, "--", "true")

    def test_scripts(self):
        for content, text in SCRIPTS:
            with self.subTest(text=text):
                path = self.c.script("bad.sh", "")
                with open(path, "wb") as file:
                    file.write(content)
                self.refused(USAGE, text, "gpusubmit", "bad.sh")
                self.refused(USAGE, text.lstrip(":0123456789"), "gpusubmit", "bad.sh", "x", "y")

    def test_scripts_that_cannot_be_read(self):
        self.refused(USAGE, "No such file or directory; to run a program", "gpusubmit", "none.sh")
        self.refused(USAGE, "is a directory", "gpusubmit", ".")
        closed = self.c.script("closed.sh", "#!/bin/sh\n")
        os.chmod(closed, 0)
        self.refused(USAGE, "Permission denied", "gpusubmit", "closed.sh")

    def test_a_working_directory_that_has_gone(self):
        result = self.c.command(
            "gpusubmit", "--chdir", "nowhere/../..", "--", "true", check=False, cwd=self.c.home
        )
        self.assertEqual(result.returncode, USAGE, result.stderr)

    def test_commands(self):
        for words, status, text in COMMANDS:
            with self.subTest(words=words):
                self.refused(status, text, *words)

    def test_unknown_users_of_staff(self):
        for program in ("gpuqueue", "gpuacct", "gpucancel"):
            self.refused(NOT_FOUND, "there is no user nope", program, "--user", "nope", user="root")

    def test_unknown_queues(self):
        for program in ("gpuqueue", "gpucancel"):
            self.refused(NOT_FOUND, "did you mean main?", program, "--queue", "mian")

    def test_more_than_is_free_waits(self):
        holder = self.c.submit("--nodes", "2", "--gpus-per-node", "4", "--", "sleep", "60")
        self.c.wait_state(holder, "running")
        job = self.c.submit("--gpus", "4", "--", "true")
        self.assertEqual(self.c.state(job), "pending")
        for each in (job, holder):
            self.c.command("gpucancel", str(each))
            self.c.wait_end(each)
        self.before = self.rows()

    # ---- frames ----
    def exchange(self, data):
        """What the gateway answers before it closes; None when it waits for more."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(self.c.gateway_socket)
            peer.settimeout(10)
            try:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # It closed before all was sent.
            answer = b""
            try:
                while len(answer) < 1 << 20:
                    part = peer.recv(65536)
                    if not part:
                        break
                    answer += part
            except ConnectionResetError:
                pass
            return answer

    def test_frames(self):
        for name, data in FRAMES.items():
            with self.subTest(frame=name):
                self.assertLess(len(self.exchange(data)), 4096)
                self.assertIsNone(self.c.daemons["gateway"].process.poll())
        self.assertTrue(self.c.ping())
        for verb in (99, 200, 255):
            self.assertIn(b"verb", self.exchange(frame(ping(verb=verb))))

    # ---- configuration ----
    def config_with(self, line):
        """A configuration that is right but for `line`, its last."""
        path = self.c.path("wrong.toml")
        with open(self.c.path("controller.toml")) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text + line + "\n")
        return path, len(text.splitlines()) + 1

    def test_the_controllers_file(self):
        for line, text in (
            ('paernt = "x"', "unknown key 'account.paernt'; did you mean 'parent'?"),
            ('users = "kim"', "account.users: must be"),
            ("parent =", "expected value"),
            ("parent = 5", "account.parent: must be a string"),
        ):
            with self.subTest(line=line):
                path, number = self.config_with(line)
                self.refused(
                    CONFIG, f":{number}:", "gpuadmin", "config", "check", path, user="root"
                )
                self.refused(CONFIG, text, "gpuadmin", "config", "check", path, user="root")
        self.refused(CONFIG, "none.toml", "gpuadmin", "config", "check", "/none.toml", user="root")

    def test_a_wrong_file_is_not_loaded(self):
        good = self.c.path("controller.toml")
        with open(good) as file:
            text = file.read()
        try:
            with open(good, "w") as file:
                file.write(text.replace('time_max = "2h"', 'time_max = "9h"') + "usres = []\n")
            self.refused(INVALID, "did you mean 'users'?", "gpuadmin", "reload", user="root")
            self.refused(INVALID, "2h", "gpusubmit", "--time", "3h", "--", "true")
        finally:
            with open(good, "w") as file:
                file.write(text)

    # ---- daemons ----
    def daemon_refused(self, status, text, program, *words):
        result = subprocess.run(
            [os.path.join(BIN, program), *words], capture_output=True, text=True, timeout=30
        )
        self.assertEqual(result.returncode, status, result.stderr)
        lines = result.stderr.splitlines()
        self.assertIn(text, lines[-1] if lines else "")
        return lines

    def test_a_second_of_each_daemon(self):
        c = self.c
        holder = c.daemons["controller"].process.pid
        lines = self.daemon_refused(
            75, f"{holder}", "muster-controller", "--config", c.path("controller.toml")
        )
        self.assertIn("stop that one first, or use another directory", lines[-1])
        for name in ("gateway", "n1.launcher", "n1"):
            with self.subTest(daemon=name):
                argv = c.daemons[name].argv
                result = subprocess.run(argv, capture_output=True, text=True, timeout=30)
                self.assertEqual(result.returncode, 75, result.stderr)
        self.assertTrue(c.ping() and c.all_connected())

    def test_options_of_daemons(self):
        for program, wrong, right in (
            ("muster-controller", "--confg", "--config"),
            ("muster-gateway", "--sokcet", "--socket"),
            ("muster-worker", "--confg", "--config"),
            ("muster-launcher", "--sokcet", "--socket"),
            ("muster-compactor", "--statedir", "--state-dir"),
        ):
            with self.subTest(program=program):
                lines = self.daemon_refused(
                    USAGE, f"unknown option {wrong}; did you mean {right}?", program, wrong, "x"
                )
                self.assertEqual(len(lines), 1, lines)

    def test_files_of_daemons(self):
        worker = self.c.path("wrong-worker.toml")
        for text, expected in (
            ('node = "n1"\nlauncer = "x"\n', 'line 2: unknown key "launcer"; did you mean'),
            ("[resources]\ncpus = -1\n", "line 2"),
        ):
            with open(worker, "w") as file:
                file.write(text)
            lines = self.daemon_refused(78, expected, "muster-worker", "--config", worker)
            self.assertIn("wrong-worker.toml", lines[-1])
        path, number = self.config_with('paernt = "x"')
        self.daemon_refused(78, f":{number}:", "muster-controller", "--config", path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
