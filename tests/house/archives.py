"""What compiled code needs: pure archives call no system, commands load neither zmq nor pq."""
import re
import subprocess
from pathlib import Path

from tree import Violation

PURE_ARCHIVES = {
    "base_types": "base/types",
    "base_session": "base/session",
    "controller_core": "controller/core",
    "worker_core": "worker/core",
}
DENIED = set(
    """
time clock clock_gettime gettimeofday nanosleep usleep sleep clock_nanosleep localtime localtime_r
gmtime gmtime_r
open open64 openat openat64 creat fopen fopen64 fdopen freopen close read write
pread pwrite pread64 pwrite64 readv writev
lseek ftruncate fsync fdatasync rename unlink mkdir stat fstat lstat opendir readdir mmap munmap
socket connect bind listen accept accept4 send sendto sendmsg recv recvfrom recvmsg
poll ppoll epoll_wait select
pthread_create pthread_mutex_lock fork vfork execve execv execvp posix_spawn
system popen kill waitpid
rand srand random srandom rand_r drand48 getrandom getentropy arc4random
getenv secure_getenv setenv getpid getuid geteuid gethostname uname
printf sprintf snprintf vprintf vfprintf vsnprintf vsprintf puts putchar
fputs fputc fwrite perror syslog
__printf_chk __sprintf_chk __snprintf_chk __vsnprintf_chk
exp exp2 log log2 log10 pow sqrt cbrt sin cos tan atan atan2 hypot fmod ldexp frexp round floor ceil
""".split()
)
DENIED_MANGLED = re.compile(
    r"^_ZNSt6chrono|^_ZNSt13random_device|^_ZNSt6thread|^_ZSt(?:4cout|4cerr|4clog|3cin)$"
    r"|basic_[io]?f(?:ile)?stream"
    r"|^_ZNSt8ios_base|^_ZNSt10filesystem|^_ZNSt6locale|^_ZNSt18condition_variable"
)
FORBIDDEN_LIBRARIES = re.compile(r"\blib(?:zmq|pq|pqxx|spdlog)[-.\d]*\.so")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def undefined_symbols(archive):
    """symbol → member, for what the archive needs from outside itself."""
    member, needed, defined = "", {}, set()
    for line in run("nm", "--format=posix", str(archive)).stdout.splitlines():
        if line.endswith("]:") or line.endswith(".o:"):
            member = re.sub(r".*\[|\]:$|:$", "", line)
            continue
        words = line.split()
        if len(words) < 2:
            continue
        name = words[0].split("@")[0]
        if words[1] in "Uwv":
            needed.setdefault(name, member)
        else:
            defined.add(name)
    return {name: where for name, where in needed.items() if name not in defined}


def check_archives(tree):
    found = []
    for library, folder in PURE_ARCHIVES.items():
        if not tree.under(folder, ends=".cpp"):
            continue
        archive = tree.build / f"lib{library}.a"
        if not archive.exists():
            found.append(Violation(folder, 0, f"{archive} is not built"))
            continue
        for symbol, member in sorted(undefined_symbols(archive).items()):
            if symbol in DENIED or DENIED_MANGLED.search(symbol):
                found.append(
                    Violation(
                        folder,
                        0,
                        f"{member} calls {symbol}: a pure folder has no clock, input, output, "
                        "thread, chance or libm",
                    )
                )
    return found


def check_commands(tree):
    found = []
    # Those people start at every turn. Other programs may take their time.
    sources = sorted(tree.under("submit/cli", ends=".cpp"))
    programs = [tree.build / "bin" / Path(source).stem for source in sources]
    programs = [program for program in programs if program.exists()]
    if sources and not programs:
        found.append(Violation("submit/cli", 0, "no command is built"))
    for program in programs:
        for library in sorted(set(FORBIDDEN_LIBRARIES.findall(run("ldd", str(program)).stdout))):
            found.append(
                Violation(
                    f"submit/cli/{program.name}.cpp", 0, f"loads {library}: it costs start-up"
                )
            )
    return found
