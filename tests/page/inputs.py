"""What the page is tested on: inputs, the reports made of them, and what the commands say of them.

    paths = INPUTS["gpu"](directory)       made by harness.py's means
    report(directory / "out.html", *paths)
"""
import pathlib

import harness

GOLDEN = harness.TESTS / "golden"
KINETO = GOLDEN / "kineto-traces"
TORCH = harness.TESTS / "torch"
SIMCUDA = harness.BUILD / "tests" / "fake" / "simcuda-run"
WINDOW = harness.schedule_words(wait=1, warmup=1, active=3, repeat=1)
FULL = {"TPROF_SCHEDULE": WINDOW, "TPROF_PRESET": "full"}


def profiled(argv, logdir, options=None, where=harness.NEWEST, run_options=()):
    """[the log directory] of one run under tprof-run."""
    result = harness.run(argv, "run", logdir=logdir, options=options or FULL, where=where, run_options=run_options)
    assert result.returncode == 0 and harness.trace_files(logdir), result.stderr
    return [logdir]


def cpu(where):
    """A training with shapes, stacks, memory, modules and FLOPs on that torch."""
    return lambda directory: profiled([TORCH / "models.py", "conv"], directory / "conv", where=harness.machine(where))


def gpu(directory):
    options = {**FULL, "TPROF_SCHEDULE": harness.schedule_words(wait=2, warmup=1, active=3, repeat=1)}
    argv = [SIMCUDA, "/usr/bin/python3", TORCH / "gpu_ops.py", harness.BUILD / "tests" / "libsimops.so", "waiting"]
    return profiled(argv, directory / "gpu", options, where=harness.machine("host"))


def samples(directory):
    """Python and native frames of several threads, by samples."""
    return profiled([TORCH / "samples.py", 3, "threads"], directory / "samples", {"TPROF_SAMPLE": "native"})


def gloo(directory):
    return profiled(["gloo_ranks.py", 8, 20, 4], directory / "gloo", {"TPROF_RECORD_SHAPES": "1"})


def torch_profiler(directory):
    """What torch.profiler itself writes, of the newest torch."""
    out = directory / "theirs.pt.trace.json"
    directory.chmod(0o755)
    result = harness.run([TORCH / "models.py", "transformer", out], where=harness.machine(harness.TORCHES[0]))
    assert result.returncode == 0, result.stderr
    return [out]


def masks(directory):
    """Two forms of one program that finds rows of a mask: [before, after]."""
    words = {"run_options": ["-q", "--with-stack=1", "--profile-memory", "--step", "range:^SCORE$"]}
    return [profiled([TORCH / "masks.py", form], directory / form, {"TPROF_RECORD_SHAPES": "1"}, **words)[0]
            for form in ("double", "nonzero")]


# What a report is made of. Of two paths of a diff the second is what is compared with.
INPUTS = {
    "golden": lambda _: [GOLDEN / "gpu-ops.1.pt.trace.json.gz", GOLDEN / "modules.1.pt.trace.json.gz"],
    "kineto": lambda _: [KINETO / "resnet50_num_workers_0", KINETO / "resnet50_num_workers_4"],
    "gpu": gpu, "gloo": gloo, "samples": samples, "cpu-1.13": cpu("1.13"), "cpu-2.6": cpu("2.6"), "cpu-2.15": cpu("2.15"),
    "torch.profiler": torch_profiler,
}
DIFFS = {
    "kineto": lambda _: [KINETO / "resnet50_num_workers_0", KINETO / "resnet50_num_workers_4"],
    "masks": masks,
}


def report(out, *words):
    """The path of a report made by `tprof report WORDS`."""
    done = harness.tprof("report", *words, "-o", out)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(out)
