"""pip's own build of PyTorch for CUDA on the simulated CUDA (tests/fake/pytorch): programs as people write them run beside
tprof as they do alone, and torch.profiler is the judge of what tprof's trace says of the device.

A program runs bare, under tprof and within torch.profiler (in_torch_profiler.py), each recording all of it. Durations are
the simulation's own, and both profilers read the same CUPTI: see tests/fake/README.md for what this cannot prove.
"""
import concurrent.futures
import dataclasses
import re
import socket
import subprocess
import sys
from collections import Counter

import pytest

import harness
import quick

sys.path.insert(0, str(harness.TESTS / "gpu"))
import differences  # noqa: E402  (needs the path above)
import traces  # noqa: E402

PROGRAMS = harness.TESTS / "torch" / "gpu_programs"
OPTIONS = {"TPROF_SCHEDULE": "", "TPROF_PROFILE_MEMORY": "1"}


@dataclasses.dataclass(frozen=True)
class Program:
    """Of gpu_programs/, on one of harness.SIMULATED. It prints `steps N` where it trains."""
    words: str
    ranks: int = 1
    where: str = harness.SIMULATED[0]

    def argv(self, trace=None):
        name, *arguments = self.words.split()
        return [*([PROGRAMS / "in_torch_profiler.py", trace] if trace else []), PROGRAMS / name, *arguments]


SHORT = ["gpt.py fused flash bfloat16", "graph.py", "resnet.py"]
LONG = ["gpt.py", "gpt.py foreach math float16", "streams.py", "lstm.py", "linalg.py", "memory.py", "compiled.py",
        "compiled.py reduce-overhead"]
ALL = [*map(Program, SHORT), *(pytest.param(program, marks=pytest.mark.full) for program in [
    *map(Program, LONG), *(Program("ddp.py", ranks, where) for where in harness.SIMULATED for ranks in (2, 4)),
    *(Program(words, where=harness.SIMULATED[1]) for words in SHORT + LONG)])]


def name_of(program):
    words = "%s %s %s" % (program.words, program.ranks if program.ranks > 1 else "", program.where.partition("-")[2])
    return "_".join(words.replace(".py", "").split())


@dataclasses.dataclass
class Runs:
    """What each rank of a program did: alone, beside tprof, and within torch.profiler."""
    bare: list
    profiled: list
    judged: list
    ours: list
    theirs: list

    def both(self):
        return zip(self.ours, self.theirs)


def start_ranks(program, where, home, how="bare", trace=None, options=OPTIONS):
    """A result for each rank of the program."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    for rank in range(program.ranks):
        env = {"SIMCUDA_DEVICES": str(program.ranks), "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
               "TRITON_CACHE_DIR": str(home / "triton")}
        if program.ranks > 1:
            env.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(program.ranks), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=port)
        logdir = home / ("log_%d" % rank)
        argv = program.argv(home / ("theirs_%d.json" % rank) if trace else None)
        started.append((harness.start(argv, how, where=where, env=env, logdir=logdir, options=options), logdir))
    return [harness.finish(process, logdir if how != "bare" else None) for process, logdir in started]


@pytest.fixture(scope="module", params=ALL, ids=name_of)
def runs(request, tmp_path_factory):
    quick.takes_long()
    program, where, home = request.param, harness.machine(request.param.where), tmp_path_factory.mktemp("simulated")
    if program.words.startswith("compiled"):  # each in its turn tries what is fastest; after that the caches say so
        start_ranks(program, where, home)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        profiled, judged, bare = (pool.submit(start_ranks, program, where, home, *more)
                                  for more in (("run",), ("bare", True), ()))
    made = Runs(bare.result(), profiled.result(), judged.result(), [], [])
    for result in made.bare + made.profiled + made.judged:
        assert result.returncode == 0, result.stderr
    for rank, result in enumerate(made.profiled):
        ours, = result.traces()
        made.ours.append(traces.Trace(ours.data))
        made.theirs.append(traces.Trace(home / ("theirs_%d.json" % rank)))
    return made


def operator(trace, work):
    """The name of the operator that launched it. Inductor makes a range for each kernel of Triton's, named as the kernel,
    and a label "## Call CompiledFxGraph" around all of a graph, but only for torch.profiler: there the operator is the
    one around these, as where a label is the innermost range. torch.profiler sees none of a program's labels by NVTX."""
    found = trace.operator_of(work)
    if not found and "tprof" not in trace.data:  # torch.profiler of 2.8, where the kernel ends before its launch returns
        found = trace.operator_of(trace.call_of(work))
    if found and (found["name"] == work["name"] or found["cat"] != "cpu_op"):
        found = min((e for e in trace.operators if e["tid"] == found["tid"] and e is not found and e["cat"] == "cpu_op" and
                     traces.begin_ns(e) <= traces.begin_ns(found) and traces.end_ns(e) >= traces.end_ns(found)),
                    key=lambda e: e["dur"], default=None)
    return found["name"] if found and found["cat"] == "cpu_op" else "nobody"


def launched(trace):
    """Each piece of work with the operator and the call that launched it."""
    return Counter("%s by %s, %s" % (e["name"], operator(trace, e), trace.call_of(e)["name"]) for e in trace.work)


def waits(trace):
    return Counter(e["name"] for e in trace.calls if e["name"].endswith("Synchronize"))


def test_what_is_not_simulated_is_named_in_one_line(tmp_path):
    """By a cudart that lacks functions of CUDA 13, as this one may lack those of a later one."""
    lib = tmp_path / "lib"
    lib.mkdir()
    for path in harness.SIMULATED_CUDA.iterdir():
        (lib / path.name).symlink_to(path.resolve())
    (lib / "libcudart.so.13").unlink()
    (lib / "libcudart.so.13").symlink_to(harness.SIMULATED_CUDA / "libcudart.so.12")
    made = subprocess.run([harness.TESTS / "fake/pytorch/overlay", harness.pip_environment("2.15"), lib],
                          capture_output=True, text=True)
    assert made.returncode == 1 and made.stdout == "" and made.stderr.count("\n") == 1
    assert re.match(r"overlay: libcudart.so.13 is to be simulated, and lacks cudaGetDeviceProperties .* for libc10_cuda.so; ",
                    made.stderr)


def test_the_program_is_not_disturbed(runs):
    """The same words as alone, which are what the program knows of its steps and of its memory. With several ranks it depends
    on who is late whether a block can be used again before another one is needed."""
    def words(result):
        return re.sub(r"peak memory.*", "", result.stdout) if len(runs.bare) > 1 else result.stdout

    assert list(map(words, runs.profiled)) == list(map(words, runs.bare)) and all(map(words, runs.bare))


def test_steps(runs):
    for result, trace in zip(runs.bare, runs.ours):
        if known := re.search(r"^steps (\d+)$", result.stdout, re.MULTILINE):
            assert trace.data["tprof"]["step"]["count"] == int(known.group(1))


def test_kernels(runs):
    for ours, theirs in runs.both():
        assert differences.kernels(ours, theirs) == []
        assert differences.geometry(ours, theirs) == []
        assert differences.streams(ours, theirs) == []


def test_copies_and_fills(runs):
    for ours, theirs in runs.both():
        assert differences.copies(ours, theirs) == []


def test_who_launched_it(runs):
    for ours, theirs in runs.both():
        assert differences.counters("work", launched(ours), launched(theirs)) == []


def test_ranges_that_are_repeated_have_the_same_work(runs):
    """By NVTX, around each iteration: also the last one, which no other step follows."""
    for trace in runs.ours:
        labels = {e["name"] for e in trace.data["traceEvents"] if e["ph"] == "X" and e["name"].startswith("replay ")}
        counts = Counter(found["name"] for work in trace.work if (found := trace.operator_of(work)))
        assert len({counts[label] for label in labels}) <= 1 and all(counts[label] for label in labels), counts


def test_waiting(runs):
    """torch.profiler itself waits once, when it stops."""
    for ours, theirs in runs.both():
        assert waits(ours) + Counter(["cudaDeviceSynchronize"]) == waits(theirs)


COMMUNICATION = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Seq", "Process Group Name")


def stated(trace, torchs):
    """What torch says of each collective. It exchanges the sizes of an all_gather; our word has no underscore (that of the
    operator c10d::allreduce_). What starts no collective belongs to no group for us; torch 2.8 does not say Seq."""
    known = set().union(*(e["args"] for e in torchs.operators if e["name"] == "record_param_comms"))
    out = Counter()
    for event in trace.operators:
        if event["name"] == "record_param_comms":
            said = {key: event["args"].get(key) for key in COMMUNICATION if key in known}
            said["Collective name"] = said["Collective name"].replace("_", "")
            sizes = sorted((said.pop("In msg nelems"), said.pop("Out msg nelems")))
            if sizes[1] == 0:
                said = {key: said[key] for key in ("Collective name", "dtype", "Group size")}
            out[str((sizes, sorted(said.items())))] += 1
    return out


def test_collectives(runs):
    for ours, theirs in runs.both():
        assert differences.counters("collective", stated(ours, theirs), stated(theirs, theirs)) == []
        assert bool(stated(ours, theirs)) == (len(runs.ours) > 1)


def test_the_validator_of_torch_finds_nothing(runs, tmp_path):
    """torch.profiler._trace_validator, with rules from what was wrong in production. One of them is none: that no kernel
    runs on a stream when a wait for that stream begins, as if nobody waited for work. torch.profiler breaks it, too, where
    it is told to write waits (enable_cuda_sync_events); ours have a row of their own."""
    paths = [str(trace.path) for result in runs.profiled for trace in result.traces()]
    code = ("import sys; from torch.profiler._trace_validator import validate_trace\n"
            "for path in sys.argv[1:]: print([str(v) for v in validate_trace(path)[1] if 'sync_overlap' not in v.rule_name])")
    found = subprocess.run([harness.pip_environment("2.15") + "/bin/python", "-c", code, *paths], text=True,
                           capture_output=True, check=True)
    assert found.stdout == "[]\n" * len(paths)


def test_memory_of_the_device(runs):
    for result, ours in zip(runs.profiled, runs.ours):
        for words, total in (("", "Total Allocated"), (" reserved", "Total Reserved")):
            peak = int(re.search(r"^peak memory%s (\d+)$" % words, result.stdout, re.MULTILINE).group(1))
            assert max(event["args"][total] for event in ours.memory()) == peak, total
