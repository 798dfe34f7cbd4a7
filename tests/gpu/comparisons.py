"""One program per section: the same steps under tprof and under a reference, and what the two say differently.

For torch programs the reference is torch.profiler; for others what the program counted itself, and witness.cpp.
"""
import statistics
import sys

import differences
import traces
from place import needs
from report import Absent

STEPS, FIRST, END = 10, 5, 8
WINDOW = {"TPROF_SCHEDULE": "wait=%d,warmup=1,active=%d,repeat=1" % (FIRST - 1, END - FIRST),
          "TPROF_PROFILE_MEMORY": "1"}


def torch_argv(place, model, *more):
    return ["torch_program.py", model, "--size", "small" if place.quick else "large", "--steps", STEPS, "--first",
            FIRST, "--end", END, *more]


def lost(trace):
    """What the ledger of a trace says was dropped."""
    return ["%s: %s" % item for item in trace.data["tprof"].get("dropped", {}).items() if item[1]]


def checked_alone(place, section, result, trace, everything_in_operators=True):
    """What must hold for a trace of ours whatever it is compared with."""
    section.check("tprof check", place.invalid(result.logdir))
    section.check("nothing was dropped", lost(trace))
    section.check("every kernel, copy and set has its call, arrow and operator",
                  differences.launches(trace, everything_in_operators))


def same_work(section, mine, theirs):
    """mine and theirs: Traces of the same steps. Whether all is equal."""
    compared = {
        "kernels: names and counts": differences.kernels,
        "kernels: launch parameters and occupancy": differences.geometry,
        "kernels: which operator launched them": differences.attribution,
        "copies and sets: names, counts, bytes": differences.copies,
        "streams": differences.streams,
        "GPU memory: events and bytes": differences.memory,
    }
    return all([section.check(what, compare(mine, theirs)) for what, compare in compared.items()])


def reference(place, model, how="bare", options=()):
    """(Result, Trace) of a program inside torch.profiler."""
    path = place.directory(model) / "theirs.json.gz"
    result = place.must(torch_argv(place, model, "--profiler", path), how, options=options)
    return result, traces.Trace(path), path


def durations(section, mine, theirs):
    """Medians of the summed kernel time of several runs; the reference's own spread is the noise."""
    if not all(theirs):
        section.check("summed kernel time", ["the reference has no kernels"])
        return
    ours, others = statistics.median(mine), statistics.median(theirs)
    noise = 100 * (max(theirs) - min(theirs)) / others
    section.figure("kernel time, tprof's against the reference's", differences.percent(ours, others), "%")
    section.figure("... of the reference against itself (%d runs)" % len(theirs), noise, "%")
    section.check("summed kernel time within 1 %, or within the reference's own spread",
                  differences.amounts("us", ours, others, max(differences.LIMIT_PERCENT, noise)))


def torch_program(place, section, model, everything_in_operators=True):
    needs("torch", *(["triton"] if model in ("triton", "gpt_compiled") else []))
    place.must(torch_argv(place, model))  # fills the caches of compilers
    ours, theirs = [], []
    for _ in range(1 if place.quick else 3):
        ours.append(place.must(torch_argv(place, model), "tprof", options=WINDOW))
        theirs.append(reference(place, model))
    mine, other = ours[0].trace(), theirs[0][1]
    section.check("the window", [] if mine.steps() == list(range(FIRST, END)) else ["steps %s" % mine.steps()])
    checked_alone(place, section, ours[0], mine, everything_in_operators)
    if not same_work(section, mine, other) or section.failed:
        place.keep(model, *traces.files(ours[0].logdir), theirs[0][2])
    section.check("peak of GPU memory within 1 % of max_memory_allocated",
                  differences.peak(mine, ours[0].facts()["peak"]))
    durations(section, [differences.summed_us(each.trace().kernels) for each in ours],
              [differences.summed_us(each[1].kernels) for each in theirs])
    return mine, other


def overlap(place, section):
    mine, _ = torch_program(place, section, "overlap")
    section.check("two kernels at the same time on two streams", differences.overlapping(mine, "spin"))


def nvtx(place, section):
    """Ranges of the user's; as steps; and windows that cudaProfilerStart and Stop drive."""
    mine, theirs = torch_program(place, section, "nvtx")
    section.check("ranges and marks", nvtx_names(mine))
    as_steps = place.must(torch_argv(place, "nvtx"), "tprof", options={**WINDOW, "TPROF_STEP": "nvtx:nvtx step .*"})
    section.check("TPROF_STEP=nvtx:REGEX: the ranges of the window", nvtx_names(as_steps.trace()))
    by_api = place.must(torch_argv(place, "nvtx", "--cuda-profiler"), "tprof",
                        options={"TPROF_WINDOW": "cudaProfilerApi"})
    section.check("TPROF_WINDOW=cudaProfilerApi: the kernels of the window",
                  differences.kernels(by_api.trace(), theirs))


def nvtx_names(trace):
    """Each NVTX range and mark of the window's steps once, at its own level."""
    seen = differences.names(e for e in trace.events if str(e.get("name", "")).startswith("nvtx "))
    count = END - FIRST
    wanted = {"nvtx step %d" % i: 1 for i in range(FIRST, END)} | {"nvtx inner": count, "nvtx mark": count}
    return ["%s: %d times, not %d" % (name, seen[name], wanted.get(name, 0))
            for name in sorted(seen.keys() | wanted.keys()) if seen[name] != wanted.get(name, 0)]


def counted_program(place, section, argv):
    """A program that is recorded from start to exit and says itself what it did."""
    bare, profiled = place.must(argv), place.must(argv, "tprof", options={"TPROF_PROFILE_MEMORY": "1"})
    facts, trace = profiled.facts(), profiled.trace()
    section.check("the program says the same as bare", [] if same_facts(bare, profiled) else [
        bare.stdout, profiled.stdout])
    checked_alone(place, section, profiled, trace, everything_in_operators=False)
    good = section.check("the program's own counts", differences.own_counts(trace, facts))
    if not good:
        place.keep(section.name, *traces.files(profiled.logdir))
    if "timed" in facts:
        timed = [e for e in trace.kernels if facts["timed"]["kernel"] in e["name"]][-facts["timed"]["last"]:]
        section.check("kernel time within 1 % of CUDA's own events",
                      differences.amounts("us", differences.summed_us(timed), facts["timed"]["us"]))
    try:
        counts = traces.load(place.must(argv, "witness").logdir / "counts.json")
    except Absent as why:
        section.notes.append("no witness: %s" % why)
        return trace, facts
    section.check("the witness counted the same", differences.witnessed(trace, counts))
    return trace, facts


def same_facts(bare, profiled):
    """Measured times differ from run to run."""
    def of(result):
        return {key: value for key, value in result.facts().items() if key != "timed"}
    return of(bare) == of(profiled)


def cuda_program(place, section):
    counted_program(place, section, [place.nvcc("counted.cu")])


def shared_cuda_program(place, section):
    counted_program(place, section, [place.nvcc("counted.cu", "-cudart", "shared")])


def cupy(place, section):
    needs("cupy")
    counted_program(place, section, ["cupy_program.py"])


def jax(place, section):
    """Steps are equal, so the kernels of the training come in multiples of their number."""
    needs("jax")
    trace, facts = counted_program(place, section, ["jax_program.py"])
    section.check("JAX uses the GPU", [] if facts["platform"] in ("gpu", "cuda") else [facts["platform"]])
    counts = differences.names(trace.kernels)
    section.check("a kernel in each step",
                  [] if any(n % facts["steps"] == 0 for n in counts.values()) else [str(counts)])


def doctor(place, section):
    done = place.run([place.tprof, "doctor", sys.executable])
    section.check("tprof doctor finds nothing amiss", [] if done.returncode == 0 else
                  (done.stdout + done.stderr).splitlines())


def coexistence(place, section):
    """A script's own torch.profiler keeps its complete trace, and tprof has its own, of the same records."""
    needs("torch")
    _, alone, _ = reference(place, "resnet18")
    result, beside, path = reference(place, "resnet18", "tprof", WINDOW)
    mine = result.trace()
    section.check("torch.profiler beside tprof: kernels as without", differences.kernels(beside, alone))
    section.check("torch.profiler beside tprof: copies as without", differences.copies(beside, alone))
    checked_alone(place, section, result, mine)
    same_work(section, mine, beside)
    section.check("summed kernel time is that of the same records", differences.amounts(
        "us", differences.summed_us(mine.kernels), differences.summed_us(beside.kernels), 0.01))
    if section.failed:
        place.keep("coexistence", *traces.files(result.logdir), path)
