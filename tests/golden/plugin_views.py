"""Jobs of several ranks, and what torch_tb_profiler's own code answers for them and for ranges of memory: makes
plugin_views.json anew, after a change in the traces below:

    PYTHONPATH=<tb_plugin of pytorch/kineto> $(tests/pip/install viewers)/bin/python tests/golden/plugin_views.py

`plugin_views.py record` makes the traces of REAL anew by running those jobs; the answers must be made anew after it.
"""
import gzip
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GPUS = [{"id": i, "name": "Some GPU", "totalGlobalMem": 34079899648 + i, "computeMajor": 8, "computeMinor": i}
        for i in range(4)]
RANGES = {"gpu-ops.1": [(None, None), (2779.5, None), (None, 4449.25), (1396.5, 7350.0), (2404.25, 2405.5)]}


def nccl_rank(rank):
    """Three steps: two all-reduces of its own size of which the second runs over a kernel, a broadcast in the second
    step alone, another all-reduce between steps."""
    events, correlation = [], 0

    def op(name, begin, dur, external, **args):
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 100 + rank, "tid": 1, "ts": begin, "dur": dur,
                       "args": {"External id": external, **args}})

    def kernel(name, launch, begin, dur, external, blocks):
        nonlocal correlation
        correlation += 1
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 1,
                       "ts": launch, "dur": 5, "args": {"External id": external, "correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": rank, "tid": 7, "ts": begin, "dur": dur,
                       "args": {"External id": external, "correlation": correlation, "device": rank, "stream": 7,
                                "blocks per SM": blocks, "est. achieved occupancy %": 50}})

    def collective(name, at, late, moving, external, shapes, types):
        op(name, at + late, 30, external, **{"Input Dims": shapes, "Input type": types})
        kernel("ncclKernel", at + late + 5, at + late + 50, moving + 200 - late, external, 0.25)

    for step in range(3):
        at, late = 5000 * step, [0, 120, 40][(rank + step) % 3]
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % (step + 4), "pid": 100 + rank,
                       "tid": 1, "ts": at, "dur": 4800, "args": {"External id": 900 + step}})
        op("aten::mm", at + 50, 100, 10 + 100 * step)
        kernel("gemm", at + 60, at + 200, 700 + 50 * rank, 10 + 100 * step, 1.5)
        collective("nccl:all_reduce", at + 1000, late, 300, 20 + 100 * step, [[1000], [10, rank + 1]],
                   ["float", "c10::Half"])
        op("aten::mm", at + 1900, 100, 30 + 100 * step)
        kernel("gemm", at + 1910, at + 2050, 400, 30 + 100 * step, 0.75)
        collective("nccl:all_reduce", at + 2000, late, 250, 40 + 100 * step, [[7], [], [3]], ["long int", "", "double"])
        if step == 1:
            collective("nccl:broadcast", at + 3000, late, 100, 50 + 100 * step, [[64, 2]], ["c10::BFloat16"])
        collective("nccl:all_reduce", at + 4750, 0, 60, 60 + 100 * step, [[5]], ["int"])
    return {"schemaVersion": 1, "deviceProperties": GPUS, "distributedInfo": {"rank": rank, "world_size": 3},
            "traceEvents": events}


def gloo_rank(rank):
    """Two steps on the CPU. Collectives of another thread run beside operators; one takes longer than its step."""
    events = []

    def add(category, name, tid, begin, dur, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 100 + rank, "tid": tid, "ts": begin, "dur": dur,
                       "args": {"External id": len(events) + 1, **args}})

    for step in range(2):
        at, late = 3000.5 * step, 150.25 * ((rank + step) % 2)
        add("user_annotation", "ProfilerStep#%d" % step, 1, at, 2900)
        add("cpu_op", "aten::addmm", 1, at + 100, 700 + late)
        add("cpu_op", "aten::sum", 1, at + 1200, 300)
        add("cpu_op", "gloo:all_reduce", 2, at + 700 + late, 800 - late,
            **{"Input Dims": [[256]], "Input type": ["float"]})
        add("user_annotation", "gloo:all_gather", 2, at + 2700, 150 + 200 * step,
            **{"Input Dims": [[3, 3]], "Input type": ["unsigned char"]})
    return {"schemaVersion": 1, "traceEvents": events}


JOBS = {"nccl": (nccl_rank, ["node0_11", "node0_7", "node1_3"]), "gloo": (gloo_rank, ["here", "there"]),
        "uneven": (lambda rank: nccl_rank(rank) if rank else gloo_rank(rank), ["node0_1", "node0_2"])}


# Two steps of two ranks of apps/gloo_collectives.py in a window; each a folder here. What it runs, on which machine.
REAL = {"gloo_ddp": ("ddp", "2.6"), "gloo_fsdp": ("fsdp", "2.15")}
WINDOW = "skip_first=1,wait=0,warmup=1,active=2,repeat=1"


def make_job(directory, job):
    """The traces of a job in a directory."""
    if job in REAL:
        for path in (HERE / job).iterdir():
            (pathlib.Path(directory) / path.name).write_bytes(path.read_bytes())
        return
    make, workers = JOBS[job]
    for rank, worker in enumerate(workers):
        (pathlib.Path(directory) / (worker + ".pt.trace.json")).write_text(json.dumps(make(rank)))


def load(directory):
    """(worker, what the plugin computed, what it shows) of each trace."""
    from torch_tb_profiler import consts
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator
    out = []
    for path in sorted(pathlib.Path(directory).iterdir()):
        worker = consts.WORKER_PATTERN.match(path.name).group(1)
        data = RunProfileData.parse(worker, None, str(path), str(directory))
        out.append((worker, data, RunGenerator(worker, None, data).generate_run_profile()))
    return out


def distributed(loaded):
    from torch_tb_profiler.profiler.data import DistributedRunProfileData
    from torch_tb_profiler.profiler.loader import RunLoader
    from torch_tb_profiler.run import Run
    run, loader = Run("run", "run"), RunLoader.__new__(RunLoader)
    loader.run_name = "run"
    for _, data, _ in loaded:
        run.add_profile(DistributedRunProfileData(data))
    view, = loader._process_spans(run) or [None]
    return view and {"gpus": view.gpu_info and view.gpu_info["data"], "overlap": view.steps_to_overlap["data"],
                     "wait": view.steps_to_wait["data"],
                     "operations": {worker: table["rows"] for worker, table in view.comm_ops["data"].items()}}


def series(data):
    """The counters by GPU, times from the first event: utilization [begin, value], SM efficiency [begin, end, value]."""
    metrics, first = data.gpu_metrics_parser, data.events[0].ts
    return {gpu: {"utilization": [[at - first, value] for at, value in buckets],
                  "sm_efficiency": [[b - first, e - first, value] for b, e, value in
                                    metrics.approximated_sm_efficiency_ranges[gpu] if value > 1e-6]}
            for gpu, buckets in enumerate(metrics.gpu_util_buckets) if buckets}


def memory(shown, begin, end):
    """As the page asks when a range (us from the first event) is dragged."""
    whole = lambda us: us if us is None else int(shown.profiler_start_ts + us + 0.5)
    return {"range": [begin, end], "statistics": shown.get_memory_stats(whole(begin), whole(end))["rows"],
            "events": shown.get_memory_events(whole(begin), whole(end))["rows"]}


def answers():
    out = {"jobs": {}, "series": {}, "memory": {}}
    for job in [*JOBS, *REAL]:
        with tempfile.TemporaryDirectory() as directory:
            make_job(directory, job)
            loaded = load(directory)
            out["jobs"][job] = distributed(loaded)
            if job == "nccl":
                out["series"] = {worker: series(data) for worker, data, _ in loaded}
    for name, ranges in RANGES.items():
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / (name + ".pt.trace.json")
            path.write_bytes(gzip.open(HERE / (name + ".pt.trace.json.gz")).read())
            (_, _, shown), = load(directory)
            out["memory"][name] = [memory(shown, *r) for r in ranges]
    return out


def record():
    sys.path.insert(0, str(HERE.parent / "run"))
    sys.path.insert(0, str(HERE.parent))
    import harness
    for name, (job, where) in REAL.items():
        with tempfile.TemporaryDirectory() as directory:
            harness.run(["gloo_collectives.py", job, 2, "env"], "run", logdir=directory, where=harness.machine(where),
                        options={"TPROF_SCHEDULE": WINDOW})
            (HERE / name).mkdir(exist_ok=True)
            for path in (HERE / name).iterdir():
                path.unlink()
            for trace in harness.load_traces(directory):
                (HERE / name / trace.path.name).write_bytes(trace.path.read_bytes())


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        sys.exit(record())
    (HERE / "plugin_views.json").write_text(json.dumps(answers(), indent=1) + "\n")
