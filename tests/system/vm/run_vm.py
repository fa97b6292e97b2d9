#!/usr/bin/python3
"""Runs system_launcher on a pure cgroup v2 machine: QEMU, Debian's cloud kernel, and an initial
file system that holds our programs and the few of Debian's that the tests call.

    run_vm.py BUILD_FOLDER [GTEST_FILTER]
"""
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE.
SECONDS = 480
PROGRAMS = (
    "bash sh env cat id ls sleep grep setsid seq mkdir chmod touch echo true false head mount "
    "umount rm wc yes kill stat readlink ln tr sort cut date mkfifo dd python3 nproc sync "
    "chown sed mknod rmdir tail"
).split()
PYTHON = "/usr/lib/python3.11"
# What needs strace, or a kernel module of the host's.
LEFT_OUT = "-KillPoints.*:*FailedCalls*"

INIT = """#!/bin/bash
export PATH=/usr/bin:/bin HOME=/root TMPDIR=/tmp
mount -t proc proc /proc
echo 1 > /proc/sys/kernel/sysrq
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/shm /tmp /run  # The build folder may lie below /tmp: nothing is mounted there.
for place in /dev/shm /run; do mount -t tmpfs tmpfs $place; done
chmod 1777 /tmp /dev/shm
chmod 700 /root
# A test takes this name for a GPU: a device that is on nobody's list and needs no module.
mknod /dev/loop-control c 10 $(sed -n 's/ *\\([0-9]*\\) cpu_dma_latency/\\1/p' /proc/misc)
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
echo "VM kernel $(cat /proc/sys/kernel/osrelease)"
echo "VM controllers $(cat /sys/fs/cgroup/cgroup.controllers)"
run() {
  echo "VM begin $1"
  @TEST@ --gtest_filter='@FILTER@' --gtest_color=no
  echo "VM result $1 $?"
}
# As pid 1 of a container finds itself, in the root; then with each launcher started by us as
# systemd starts a service, in a group that was delegated to it.
run root
scope=/sys/fs/cgroup/system.slice/muster-launcher.service
mkdir -p $scope
echo '+memory +cpu +cpuset +pids' > /sys/fs/cgroup/cgroup.subtree_control
echo '+memory +cpu +cpuset +pids' > /sys/fs/cgroup/system.slice/cgroup.subtree_control
rmdir /sys/fs/cgroup/muster
export MUSTER_TEST_UNIT=$scope
run delegated
echo "VM groups left: $(ls -d $scope/*/ /sys/fs/cgroup/muster* 2>/dev/null | tr '\\n' ' ')"
echo o > /proc/sysrq-trigger
sleep 100
"""


def find_kernel():
    given = os.environ.get("MUSTER_VM_KERNEL")
    return given or next(iter(sorted(glob.glob("/boot/vmlinuz-*-cloud-*"))[-1:]), None)


def why_not(kernel):
    if shutil.which("qemu-system-x86_64") is None:
        return "qemu-system-x86_64 is not installed (qemu-system-x86)"
    if kernel is None or not os.path.exists(kernel):
        return "no kernel /boot/vmlinuz-*-cloud-* (linux-image-cloud-amd64), nor MUSTER_VM_KERNEL"
    return None


class Tree:
    """The initial file system, in a folder."""

    def __init__(self, root):
        self.root = root

    def path(self, name):
        path = os.path.join(self.root, name.lstrip("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add(self, name):
        """A file with the libraries it asks for; a link becomes what it points to."""
        if os.path.exists(self.path(name)):
            return
        shutil.copy(os.path.realpath(name), self.path(name))
        found = subprocess.run(["ldd", name], capture_output=True, text=True).stdout
        for library in re.findall(r"(/\S+) \(0x", found):
            self.add(library)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def add_python(self):
        for part in ("encodings", "collections", "importlib", "re"):
            shutil.copytree(
                os.path.join(PYTHON, part),
                self.path(os.path.join(PYTHON, part)),
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        for path in glob.glob(PYTHON + "/*.py"):
            shutil.copy(path, self.path(path))


def make_tree(root, build, choice):
    tree = Tree(root)
    for name in PROGRAMS:
        tree.add(os.path.join("/usr/bin", name))
    for link, target in (("bin", "usr/bin"), ("sbin", "usr/bin")):
        os.symlink(target, os.path.join(root, link))
    tree.add_python()
    for name in ("tests/system_launcher", "bin/muster-launcher", "bin/muster-shepherd"):
        tree.add(os.path.join(build, name))
    for name in ("/etc/passwd", "/etc/group"):
        tree.add(name)
    for folder in ("/proc/", "/sys/", "/dev/", "/root/"):
        tree.path(folder)
    test = os.path.join(build, "tests/system_launcher")
    tree.write("/init", INIT.replace("@TEST@", test).replace("@FILTER@", choice), 0o755)


def append_entry(archive, name, path, number):
    """One entry of the newc form of cpio."""
    facts = os.lstat(path)
    data = b""
    if stat.S_ISLNK(facts.st_mode):
        data = os.readlink(path).encode()
    elif stat.S_ISREG(facts.st_mode):
        with open(path, "rb") as file:
            data = file.read()
    fields = [number, facts.st_mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    archive.write(b"070701" + b"".join(b"%08x" % field for field in fields))
    archive.write(name.encode() + b"\0" + b"\0" * (-(110 + len(name) + 1) % 4))
    archive.write(data + b"\0" * (-len(data) % 4))


def pack(root, target):
    with open(target, "wb") as archive:
        number = 1
        for folder, folders, files in os.walk(root):
            for name in sorted(folders) + sorted(files):
                path = os.path.join(folder, name)
                append_entry(archive, os.path.relpath(path, root), path, number)
                number += 1
        end = os.path.join(root, "init")
        facts = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, len("TRAILER!!!") + 1, 0]
        archive.write(b"070701" + b"".join(b"%08x" % field for field in facts))
        archive.write(b"TRAILER!!!\0" + b"\0" * (-(110 + 11) % 4))
        assert os.path.exists(end)


def boot(kernel, initial):
    argv = [
        "qemu-system-x86_64",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-smp",
        "2",
        "-m",
        "2048",
        "-nographic",
        "-no-reboot",
        "-nic",
        "none",
        "-kernel",
        kernel,
        "-initrd",
        initial,
        "-append",
        "console=ttyS0 quiet panic=-1 cgroup_no_v1=all mitigations=off random.trust_cpu=on",
    ]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    )
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    process.wait()
    return "".join(lines)


def main():
    build = os.path.abspath(sys.argv[1])
    choice = sys.argv[2] if len(sys.argv) > 2 else LEFT_OUT
    kernel = find_kernel()
    reason = why_not(kernel)
    if reason is not None:
        print(f"skipped: {reason}")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="muster-vm.") as folder:
        root = os.path.join(folder, "root")
        os.mkdir(root)
        make_tree(root, build, choice)
        pack(root, os.path.join(folder, "initial"))
        output = boot(kernel, os.path.join(folder, "initial"))
    results = dict(re.findall(r"VM result (\w+) (\d+)", output))
    print("results:", results)
    return 0 if results == {"root": "0", "delegated": "0"} else 1


if __name__ == "__main__":
    sys.exit(main())
