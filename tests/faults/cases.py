"""THE table of unfriendly places. CASE: name -> words that stand before the program. INJECT is tests/faults/inject.c;
PLACE holds the program's log directory: what is mounted there, or done to it, concerns tprof only."""
INJECT, PLACE = "INJECT", "PLACE"


def injected(*words):
    return [INJECT, *words, "--"]


def shell(script):
    """In a mount namespace of its own; "$@" is the program."""
    return ["unshare", "-m", "sh", "-c", script + '; exec "$@"', PLACE]


CALLS = """membarrier memfd_create fallocate ftruncate close_range statfs fstatfs process_vm_readv ptrace perf_event_open
mlock setpriority sched_setscheduler pidfd_open inotify_init1 renameat2 rename linkat unlink fsync fdatasync flock mkdir
waitid sched_getaffinity setsid timer_create eventfd2 sigaltstack copy_file_range""".split()

CASES = {
    # System calls that a policy denies.
    **{"no %s" % call: injected("deny=" + call) for call in CALLS},
    **{"%s is unknown" % call: injected("deny=%s:ENOSYS" % call)
       for call in ("membarrier", "memfd_create", "fallocate", "close_range", "clone3", "pidfd_open", "renameat2", "statx")},
    "no space for fallocate": injected("deny=fallocate:ENOSPC"),
    "no space for ftruncate": injected("deny=ftruncate:ENOSPC"),
    "pwrite fails": injected("deny=pwrite64:EIO"),
    "rename fails": injected("deny=rename:EIO", "deny=renameat2:EIO"),
    "no new privileges": injected("no-new-privileges"),
    # Limits.
    "files of 100 KiB": injected("limit=fsize:102400"),
    "files of 8 MiB": injected("limit=fsize:8388608"),
    "files of 0 bytes": injected("limit=fsize:0"),
    "64 descriptors": injected("limit=nofile:64"),
    "12 descriptors": injected("limit=nofile:12"),
    "no locked memory": injected("limit=memlock:0"),
    "no pending signals": injected("limit=sigpending:0"),
    "a stack of 512 KiB": injected("limit=stack:524288"),
    "4 GiB of addresses": injected("limit=as:4294967296"),
    "no core files": injected("limit=core:0"),
    "another user with 1 process": injected("limit=nproc:1", "user=65534"),
    # Signals as a parent may leave them.
    "children are not waited for": injected("ignore=17"),
    "SIGPIPE is ignored": injected("ignore=13"),
    "SIGBUS is blocked": injected("block=7"),
    "SIGUSR2 is blocked": injected("block=12"),
    "SIGTERM is ignored": injected("ignore=15"),
    "SIGXFSZ is ignored": injected("ignore=25", "limit=fsize:102400"),
    # Descriptors.
    "without stdin": injected("close=0"),
    "without stderr": injected("close=2"),
    "without stdin and stderr": injected("close=0", "close=2"),
    # Disks, mounts and namespaces.
    "the disk has 64 KiB": shell('mount -t tmpfs -o size=64k none "$0"'),
    "the disk has 2 MiB": shell('mount -t tmpfs -o size=2m none "$0"'),
    "the disk has no more inodes": shell('mount -t tmpfs -o nr_inodes=3 none "$0"'),
    "the disk is read-only": shell('mount -t tmpfs -o ro none "$0"'),
    "the log directory is a file": shell('mount -t tmpfs none "$0" && touch "$0/log"'),
    "the log directory belongs to somebody else": shell('mount -t tmpfs -o mode=700 none "$0"; exec setpriv --reuid 65534 '
                                                        '--regid 65534 --clear-groups "$@"'),
    "no /proc": shell("mount -t tmpfs none /proc"),
    "no /dev/shm": shell("mount -t tmpfs -o size=0,ro none /dev/shm 2>/dev/null || mount -t tmpfs -o ro none /dev/shm"),
    "no /sys": shell("mount -t tmpfs none /sys"),
    "/tmp is read-only": shell('mount -t tmpfs none "$0" && mount -o remount,ro,bind / 2>/dev/null'),
    "a process namespace": ["unshare", "-p", "-f", "--mount-proc"],
    "a process namespace with the old /proc": ["unshare", "-p", "-f"],
    "a network namespace": ["unshare", "-n"],
    "a user namespace": ["unshare", "-U", "-r"],
    "a user namespace without a name": ["unshare", "-U"],
    "idle priority": ["chrt", "-i", "0"],
    "one processor": ["taskset", "-c", "0"],
    "an empty environment but for tprof's": ["env", "-u", "HOME", "-u", "LANG", "-u", "PATH"],
    "a directory that is gone": ["sh", "-c", 'cd "$(mktemp -d)" && rmdir "$PWD"; exec "$@"', "sh"],
}
# A few of each kind, for every run of the tests.
SHORT = ["no membarrier", "no memfd_create", "no process_vm_readv", "fallocate is unknown", "pwrite fails",
         "files of 100 KiB", "12 descriptors", "children are not waited for", "without stdin and stderr",
         "the disk has 64 KiB", "no /proc", "a process namespace", "a user namespace without a name"]
