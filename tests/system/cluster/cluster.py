"""A private Muster cluster in a temporary directory, for tests: real daemons, real PostgreSQL,
simulated GPUs.

As root, jobs run as an ordinary user (made when there is none); otherwise everything runs as the
caller.
Every process is ended by its pid; nothing is left behind by stop().
"""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

BUILD = os.environ.get("MUSTER_BUILD", "build/dev")
SOURCE = os.environ.get("MUSTER_SOURCE", os.path.dirname(os.path.abspath(__file__)) + "/../../..")
BIN = os.path.join(BUILD, "bin")
PLUGINS = os.path.join(BUILD, "plugins")
TEST_USER = "muster-demo"
IS_ROOT = os.geteuid() == 0


class ClusterError(Exception):
    pass


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def wait_for(condition, seconds, what):
    """Polls until condition() is true; raises with `what` when it takes longer."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise ClusterError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


def job_user():
    """The user jobs run as."""
    if not IS_ROOT:
        return pwd.getpwuid(os.geteuid())
    try:
        return pwd.getpwnam(TEST_USER)
    except KeyError:
        subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", TEST_USER], check=True)
        return pwd.getpwnam(TEST_USER)


class Daemon:
    def __init__(self, name, argv, log, ready):
        self.name, self.argv, self.log, self.ready = name, argv, log, ready
        self.process = None
        self.extra = {}  # Of its environment.

    def start(self, seconds=30):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, **self.extra},
            )

        def up():
            if self.process.poll() is not None:
                raise ClusterError(
                    f"{self.name} ended with {self.process.returncode}: {self.tail()}"
                )
            return self.ready()

        wait_for(up, seconds, f"{self.name} to be ready; its log ends: {self.tail()}")

    def tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-2000:].decode(errors="replace")

    def kill(self, number=signal.SIGKILL):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=30)
        self.process = None

    def restart(self, seconds=30):
        self.kill()
        self.start(seconds)


class Cluster:
    def __init__(
        self,
        nodes=2,
        gpus=4,
        database=True,
        cpus=8,
        config_extra="",
        min_uid=1000,
        gateway_options=(),
        limits=(),
        topology="none",
        numa_nodes=1,
    ):
        self.dir = tempfile.mkdtemp(prefix="mc.", dir=os.environ.get("TMPDIR", "/tmp"))
        os.chmod(self.dir, 0o755)
        self.user = job_user()
        # As on a real node, where /run is one: what need not survive a reboot lies on a tmpfs.
        memory = "/dev/shm" if os.path.ismount("/dev/shm") else self.dir
        self.run_dir = tempfile.mkdtemp(prefix="mc.", dir=memory)
        self.home = os.path.join(self.dir, "work")
        os.mkdir(self.home)
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.gpus, self.cpus = gpus, cpus
        self.database = database
        self.config_extra = config_extra
        self.min_uid = min_uid
        self.gateway_options = list(gateway_options)
        self.limits = list(limits)
        self.numa_nodes = numa_nodes
        self.topology = topology  # Of cores; nodes of one machine would pin to the same ones.
        self.ports = dict(zip(["workers", "gateways", "bulk", "enrol"], free_ports(4)))
        self.gateway_socket = os.path.join(self.dir, "g.sock")
        self.daemons = {}
        self.conninfo = ""
        self.check = True

    # ---- start and stop ----
    def start(self):
        try:
            if self.database:
                self.start_database()
                self.migrate()
            self.write_controller_config()
            self.start_controller()
            self.start_gateway()
            for index, node in enumerate(self.nodes):
                self.start_node(node, index)
            wait_for(self.all_connected, 30, "all workers to be connected")
            return self
        except BaseException:
            self.stop()
            raise

    def add(self, daemon):
        """Every daemon, before it is started for the first time."""
        self.daemons[daemon.name] = daemon

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def postgres(self, *words):
        result = subprocess.run(
            [
                "bash",
                os.path.join(SOURCE, "tests/system/postgres.sh"),
                words[0],
                self.path("pg"),
                *words[1:],
            ],
            capture_output=True,
            text=True,
        )
        if result.returncode != 0:
            raise ClusterError(f"postgres.sh {words[0]}: {result.stderr}")
        return result.stdout

    def start_database(self):
        self.conninfo = self.postgres("start").strip().splitlines()[-1]

    def migrate(self):
        self.write_controller_config(bare=True)
        self.run_program("muster-controller", "--migrate", "--config", self.path("controller.toml"))

    def make_key(self, name):
        return self.run_program(
            "muster-controller", "--make-key", self.path(name + ".key")
        ).stdout.strip()

    def run_program(self, program, *words):
        result = subprocess.run(
            [os.path.join(BIN, program), *words], capture_output=True, text=True
        )
        if result.returncode != 0:
            raise ClusterError(f"{program} {' '.join(words)}: {result.stderr}")
        return result

    def write_controller_config(self, bare=False):
        lines = ['cluster = "test"', f'state_dir = "{self.path("controller")}"', "[listen]"]
        lines += [f'{name} = "tcp://127.0.0.1:{port}"' for name, port in self.ports.items()]
        if self.conninfo:
            lines += ["[database]", f'conninfo = "{self.conninfo}"']
        lines += ["[limits]", f"min_uid = {self.min_uid if IS_ROOT else 0}", *self.limits]
        if not bare:
            lines += [
                "[[gateway]]",
                'name = "login1"',
                f'key = "{self.make_key("gateway")}"',
                "admin = true",
            ]
            for node in self.nodes:
                lines += ["[[node]]", f'name = "{node}"', f'key = "{self.make_key(node)}"']
        if not IS_ROOT:
            lines += ["[roles]", f'admins = ["{self.user.pw_name}"]']
        lines += [self.config_extra]
        with open(self.path("controller.toml"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def start_controller(self):
        def ready():
            with open(self.path("controller.log"), "rb") as log:
                return log.read()[self.log_mark :].find(b"serving") >= 0

        def start(seconds=30):
            self.log_mark = (
                os.path.getsize(self.path("controller.log"))
                if os.path.exists(self.path("controller.log"))
                else 0
            )
            Daemon.start(daemon, seconds)

        daemon = Daemon(
            "controller",
            [os.path.join(BIN, "muster-controller"), "--config", self.path("controller.toml")],
            self.path("controller.log"),
            ready,
        )
        daemon.start = start
        self.add(daemon)
        daemon.start()

    def start_gateway(self):
        server_key = self.path("controller/keys/transport.pub")
        daemon = Daemon(
            "gateway",
            [
                os.path.join(BIN, "muster-gateway"),
                "--socket",
                self.gateway_socket,
                "--controller",
                f"tcp://127.0.0.1:{self.ports['gateways']}",
                "--server-key",
                server_key,
                "--key",
                self.path("gateway.key"),
                "--name",
                "login1",
                *self.gateway_options,
            ],
            self.path("gateway.log"),
            lambda: os.path.exists(self.gateway_socket) and self.ping(),
        )
        self.add(daemon)
        daemon.start()

    def start_node(self, node, index):
        first = 21000 + index * 1000
        run = self.path(node)
        os.makedirs(run, exist_ok=True)
        os.chmod(run, 0o755)
        with open(os.path.join(run, "gpus.toml"), "w") as file:
            file.write(f'name = "{node}"\n')
            for numa in range(self.numa_nodes):
                file.write(
                    '[[gpu]]\ntype = "h100"\nmemory_mib = 81920\n'
                    f"count = {self.gpus // self.numa_nodes}\nnuma = {numa}\n"
                )
        sock = os.path.join(run, "l.sock")
        launcher = [
            os.path.join(BIN, "muster-launcher"),
            "--state-dir",
            os.path.join(run, "launcher"),
            "--run-dir",
            os.path.join(self.run_dir, node),
            "--socket",
            sock,
            "--keys",
            self.path("controller/keys/orders.pub"),
            "--node",
            node,
            "--worker-uid",
            str(os.geteuid()),
            "--ports",
            f"{first}-{first + 999}",
            "--min-uid",
            str(self.min_uid),
        ]
        if not IS_ROOT:
            launcher.append("--single-user")
        daemon = Daemon(
            node + ".launcher",
            launcher,
            os.path.join(run, "launcher.log"),
            lambda: os.path.exists(sock),
        )
        self.add(daemon)
        daemon.start()
        with open(os.path.join(run, "worker.toml"), "w") as file:
            file.write(
                f"""node = "{node}"
controller = "tcp://127.0.0.1:{self.ports['workers']}"
bulk = "tcp://127.0.0.1:{self.ports['bulk']}"
server_key = "{self.path('controller/keys/transport.pub')}"
key_file = "{self.path(node + '.key')}"
launcher = "{sock}"
state_dir = "{os.path.join(run, 'worker')}"
[gpu]
plugin = "{'fake' if self.gpus else 'none'}"
config = "{os.path.join(run, 'gpus.toml')}"
[resources]
cpus = {self.cpus}
memory = "8G"
topology = "{self.topology}"
[network]
address = "127.0.0.1"
"""
            )
        worker = [os.path.join(BIN, "muster-worker"), "--config", os.path.join(run, "worker.toml")]
        daemon = Daemon(node, worker, os.path.join(run, "worker.log"), lambda: True)
        self.add(daemon)
        daemon.start()

    def stop(self):
        try:
            if "gateway" in self.daemons and "controller" in self.daemons:
                self.command("gpucancel", "--all", check=False, timeout=5)
                deadline = time.monotonic() + 10
                while self.attempts_left() and time.monotonic() < deadline:
                    time.sleep(0.1)
        except (ClusterError, OSError, subprocess.SubprocessError):
            pass
        for name in sorted(self.daemons, key=lambda each: each in ("controller", "gateway")):
            try:
                self.daemons[name].kill(signal.SIGTERM)
            except subprocess.TimeoutExpired:
                self.daemons[name].kill()
        if self.conninfo:
            self.postgres("stop", "immediate")
        if os.environ.get("MUSTER_KEEP"):
            print("kept:", self.dir, self.run_dir)
        else:
            shutil.rmtree(self.run_dir, ignore_errors=True)
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        if kind is not None:
            self.print_logs()
        self.stop()

    def print_logs(self):
        for root, _, files in os.walk(self.dir):
            for name in files:
                if name.endswith(".log") and "pg" not in root.split("/"):
                    with open(os.path.join(root, name), "rb") as log:
                        print(
                            f"---- {os.path.relpath(os.path.join(root, name), self.dir)}\n"
                            f"{log.read()[-3000:].decode(errors='replace')}"
                        )

    # ---- what people type ----
    def command(
        self, program, *words, user=None, check=True, stdin=None, timeout=60, cwd=None, env=None
    ):
        """Runs a command as the job user ("root": as the caller)."""
        argv = [os.path.join(BIN, program), *words]
        if IS_ROOT and user != "root":
            argv = [
                "setpriv",
                "--reuid",
                str(self.user.pw_uid),
                "--regid",
                str(self.user.pw_gid),
                "--init-groups",
            ] + argv
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.user.pw_dir,
            "USER": self.user.pw_name,
            "MUSTER_GATEWAY": self.gateway_socket,
            "LANG": "C.UTF-8",
            **(env or {}),
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "MUSTER_TEST_RUN"):
            if name in os.environ and name not in environment:
                environment[name] = os.environ[name]
        result = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            input=stdin,
            timeout=timeout,
            cwd=cwd or self.home,
            env=environment,
        )
        if check and result.returncode != 0:
            raise ClusterError(
                f"{program} {' '.join(words)}: exit {result.returncode}: "
                f"{result.stderr}{result.stdout}"
            )
        return result

    def json(self, program, *words, **options):
        return json.loads(self.command(program, *words, "--json", **options).stdout)

    def ping(self):
        return (
            self.command("gpuadmin", "ping", "--timeout", "2s", user="root", check=False).returncode
            == 0
        )

    def all_connected(self):
        result = self.command("gpuinfo", "--json", user="root", check=False)
        if result.returncode != 0:
            return False
        rows = json.loads(result.stdout)["rows"]
        return sum(1 for row in rows if row["connected"] and row["state"] == "up") == len(
            self.nodes
        )

    def script(self, name, text):
        path = os.path.join(self.home, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def submit(self, *words, **options):
        return int(self.command("gpusubmit", "--parsable", *words, **options).stdout.strip())

    def job(self, job):
        return self.json("gpuqueue", str(job), user="root")

    def state(self, job):
        return self.job(job)["row"]["state"]

    def wait_state(self, job, *states, seconds=60):
        return wait_for(
            lambda: self.state(job) in states and self.job(job),
            seconds,
            f"job {job} to be {states}",
        )

    def wait_end(self, job, seconds=60):
        return self.wait_state(job, "ended", seconds=seconds)

    def read(self, *names):
        with open(os.path.join(self.home, *names), errors="replace") as file:
            return file.read()

    def accounting(self, job):
        return self.json("gpuacct", str(job), user="root")["rows"]

    # ---- what must not be left ----
    def attempts_left(self):
        left = []
        for node in self.nodes:
            folder = os.path.join(self.dir, node, "launcher", "attempts")
            if os.path.isdir(folder):
                left += os.listdir(folder)
        return left

    def processes_of_jobs(self):
        """Host pids of the job user's processes that carry a Muster job id."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{pid}").st_uid != self.user.pw_uid:
                    continue
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environ = file.read().split(b"\0")
                if b"MUSTER_JOB_ID" in b" ".join(environ) and any(
                    self.dir.encode() in word for word in environ
                ):
                    found.append(int(pid))
            except OSError:
                continue
        return found
