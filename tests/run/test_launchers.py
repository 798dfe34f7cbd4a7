"""Jobs whose ranks a launcher starts: whether tprof-run stands before the launcher or before each rank, they leave what ranks
by environment leave. The launchers are real."""
import shutil
import socket
import subprocess

import pytest

import quick
from harness import APPS, RUN, TESTS, run, settle, tprof
from test_collectives import by_rank, collectives, job, key

RANKS = 2
LAUNCHERS = {"mpirun": ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS)],
             "srun": ["srun", "-n", str(RANKS), "--overcommit"],
             "torchrun": ["/usr/bin/python3", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS),
                          "--no-python"]}
BESIDE = {"srun": [str(TESTS / "slurm")]}  # what runs meanwhile


@pytest.fixture(scope="module")
def by_environment(tmp_path_factory):
    return job(tmp_path_factory.mktemp("environment"), "ddp", RANKS)


def place():
    """Where the ranks meet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo", "USE_LIBUV": "0"}


@pytest.fixture(scope="module", params=[(launcher, before) for launcher in LAUNCHERS for before in ("launcher", "ranks")],
                ids=lambda param: "%s_tprof_before_%s" % param)
def launched(request, tmp_path_factory):
    quick.takes_long()
    launcher, before = request.param
    if not shutil.which(LAUNCHERS[launcher][0]):
        pytest.skip("no %s here, see tests/README.md" % launcher)
    beside = BESIDE.get(launcher, [])
    if beside:
        tried = subprocess.run([*beside, "true"], capture_output=True, text=True)
        if tried.returncode:
            pytest.skip(tried.stderr.strip())
    logdir = tmp_path_factory.mktemp(launcher)
    program = ["/usr/bin/python3", APPS / "gloo_collectives.py", "ddp", RANKS,
               "env" if launcher == "torchrun" else "started"]
    if before == "launcher":
        result = run([*LAUNCHERS[launcher], *program], "run", logdir=logdir, env=place(), wrapper=beside)
    else:
        result = run([*beside, *LAUNCHERS[launcher], RUN, "--", *program],
                     env={**place(), "TPROF_LOGDIR": str(logdir), "TPROF_EXIT_WAIT": "60"})
        settle(logdir)
        result.logdir = logdir
    assert result.returncode == 0, result.stderr
    return result


def facts(result):
    """What must not depend on the launcher."""
    out = {}
    for rank, trace in by_rank(result).items():
        info = trace.data["distributedInfo"]
        name = trace.path.name.split(".")[0].replace("_%d_" % trace.pid, "_PID_")
        out[rank] = (name, trace.steps(), [key(e) for e in collectives(trace)],
                     {field: info.get(field) for field in ("rank", "world_size", "local_rank", "node", "backend")})
    return out


def test_the_directory_is_that_of_ranks_by_environment(launched, by_environment):
    assert facts(launched) == facts(by_environment) and len(facts(launched)) == RANKS
    kinds = lambda result: sorted(path.name.split(".", 2)[2] for path in result.logdir.iterdir())
    assert kinds(launched) == kinds(by_environment)


def test_ranks_are_compared(launched):
    said = tprof("overview", "--all-ranks", launched.logdir)
    assert said.returncode == 0 and "rank 1 (%s)" % socket.gethostname() in said.stdout + said.stderr


def test_the_closing_page_is_said_once(launched):
    wrote = [line for line in launched.stderr.splitlines() if line.startswith("tprof: wrote ")]
    assert len(wrote) == 1, launched.stderr
