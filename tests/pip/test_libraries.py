"""Programs of the libraries that people train with, on the PyTorch that pip installs: with tprof they print and end as
without, and the steps are those that the library's own callbacks count."""
import json
import pathlib
import re

import pytest

from harness import TORCHES, machine, run

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
# No hub is asked for anything; models and tokenizers are made by the programs.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
# What a program prints of time, which no two runs have in common.
OF_TIME = re.compile(r"'(?:\w+_)?(?:runtime|per_second)': '[^']*'")


@pytest.fixture(scope="module")
def pip():
    """The newest torch that these tests know, as pip installs it."""
    return machine(TORCHES[0])


def comparable(stdout):
    """(what must be as without tprof, what the program knows of itself)"""
    lines = OF_TIME.sub("", stdout).splitlines()
    told = [line for line in lines if line.startswith("truth ")]
    assert len(told) == 1, stdout
    truth = json.loads(told[0][len("truth "):])
    lines[lines.index(told[0])] = {name: value for name, value in truth.items() if name != "pauses"}
    return lines, truth


def run_both(words, how, pip, logdir, options=None, env=None):
    """(Result with tprof, truth)"""
    env = {**ENVIRONMENT, **(env or {})}
    recorded = run(words, how, where=pip, logdir=logdir, options=options, env=env)
    bare = run(words, where=pip, env=env)
    assert bare.returncode == 0, bare.stderr
    assert recorded.returncode == 0, recorded.stderr
    lines, truth = comparable(recorded.stdout)
    assert lines == comparable(bare.stdout)[0]
    return recorded, truth


def trained(result):
    """By process the traces in which steps of training were counted."""
    found = {}
    for trace in result.traces():
        if trace.steps() and not trace.ledger["step"].get("before_training"):
            found.setdefault(trace.pid, []).append(trace)
    return found


@pytest.mark.parametrize("program", ["cuda_questions", "hf_trainer", "sentences", "lightning_fit", "accelerate_loop"])
def test_a_library_trains_as_without_and_its_steps_are_counted(program, how, pip, logdir):
    result, truth = run_both([PROGRAMS / (program + ".py")], how, pip, logdir)
    (trace,), = trained(result).values()
    assert trace.steps() == list(range(truth["steps"])), trace.ledger["step"]
    assert trace.ledger["dropped"] == {}


def test_a_compiled_model_trains_as_without(how, pip, logdir, tmp_path):
    """With tprof first, which therefore sees the compiler at work; without it, what was compiled is used again."""
    result, truth = run_both([PROGRAMS / "compiled.py"], how, pip, logdir,
                             env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")})
    (trace,), = trained(result).values()
    assert trace.steps() == list(range(truth["steps"])), trace.ledger["step"]


def test_each_rank_of_a_torchrun_job_trains_as_without(how, pip, logdir):
    # By addresses: for a host name that only a name server knows, or none, torch waits for minutes.
    words = ["-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", 2,
             PROGRAMS / "ddp.py"]
    result, truth = run_both(words, how, pip, logdir, env={"GLOO_SOCKET_IFNAME": "lo"})
    steps = [trace.steps() for traces in trained(result).values() for trace in traces]
    assert steps == [list(range(truth["steps"]))] * truth["ranks"]


@pytest.mark.parametrize("options", [{}, {"TPROF_SAMPLE": "native:100"}], ids=["recorded", "sampled"])
def test_a_server_of_asyncio_waits_no_longer_than_without(options, pip, logdir):
    """Also while its threads are stopped a hundred times a second to read their stacks."""
    result, truth = run_both([PROGRAMS / "asyncio_server.py"], "run", pip, logdir, options)
    assert all(0 < pause - truth["pause"] < 5 for pause in truth["pauses"]), truth  # a busy machine may be slow
    trace, = result.traces()
    assert trace.ops("aten::linear")
