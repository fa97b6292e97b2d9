# An ext4 file system of our own in a sparse file, for tests that cut its power or fill it up.
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile

SKIPPED = 77  # ctest's SKIP_RETURN_CODE.
EXT4_IOC_SHUTDOWN = 0x8004587D
NOLOGFLUSH = 2


class LoopDisk:
    """with LoopDisk(mebibytes) as disk: disk.path is mounted, disk.scratch is on a normal disk."""

    def __init__(self, mebibytes):
        self.mebibytes = mebibytes
        self.is_mounted = False

    def __enter__(self):
        self.scratch = tempfile.mkdtemp(prefix="muster-loop-")
        self.image = os.path.join(self.scratch, "image")
        self.path = os.path.join(self.scratch, "mnt")
        os.mkdir(self.path)
        try:
            with open(self.image, "wb") as image:
                image.truncate(self.mebibytes << 20)
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", self.image], check=True)
            self.mount()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.path], check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.path], check=True,
                       capture_output=True)
        self.is_mounted = True

    def umount(self):
        subprocess.run(["umount", self.path], check=True)
        self.is_mounted = False

    def cut_power(self):
        """Everything that was not synced is gone; every later write fails."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, EXT4_IOC_SHUTDOWN, struct.pack("I", NOLOGFLUSH))
        finally:
            os.close(directory)


def enter_own_namespace():
    """Begins the program anew in a mount namespace of its own.

    Else a job of another test, which copies all mounts into its namespace, keeps ours alive past
    its umount: mounting again then finds the file system still shut down."""
    if os.geteuid() != 0 or os.environ.get("MUSTER_OWN_MOUNTS") == "1":
        return
    os.environ["MUSTER_OWN_MOUNTS"] = "1"
    words = ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv]
    os.execvp(words[0], words)


def why_not():
    """The reason why loop file systems cannot be used here, or None."""
    if os.geteuid() != 0:
        return "needs root to mount"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed (e2fsprogs)"
    try:
        with LoopDisk(16):
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no loop device can be mounted: {error}"
