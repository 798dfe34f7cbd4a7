"""What torch_tb_profiler 0.4.3 makes of odd traces: each one small, its answers those of the plugin's own code."""
import json

import pytest

from harness import tprof

MODERN = 1700000000000000.0  # in microseconds since 1970, where doubles are 0.25 apart


def x(category, name, ts, dur, tid=1, pid=9, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": {key.replace("_", " "): value for key, value in args.items()}}


def op(name, ts, dur, id, tid=1, **args):
    return x("cpu_op", name, ts, dur, tid, External_id=id, **args)


def step(number, ts, dur, tid=1, category="user_annotation"):
    return x(category, "ProfilerStep#%d" % number, ts, dur, tid)


def call(ts, dur, correlation, id, tid=1):
    return x("cuda_runtime", "cudaLaunchKernel", ts, dur, tid, External_id=id, correlation=correlation)


def kernel(name, ts, dur, correlation, id, **args):
    return x("kernel", name, ts, dur, 7, 0, External_id=id, correlation=correlation, device=0, stream=7, **args)


def module(name, ts, dur, id, parent=None, tid=1):
    return x("python_function", "nn.Module: " + name, ts, dur, tid, Python_id=id, Python_module_id=0,
             Python_parent_id=parent)


def memory(ts, size, address, total, tid=1):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": tid, "ts": ts,
            "args": {"Device Type": 0, "Device Id": -1, "Addr": address, "Bytes": size, "Total Allocated": total,
                     "Total Reserved": 0}}


def arrow(id, begin, end, tid=1):
    shared = {"cat": "fwdbwd", "name": "fwdbwd", "id": id, "pid": 9}
    return [{"ph": "s", "tid": 1, "ts": begin, **shared}, {"ph": "f", "bp": "e", "tid": tid, "ts": end, **shared}]


@pytest.fixture
def ask(tmp_path):
    def of(events, by, **head):
        path = tmp_path / "t.pt.trace.json"
        path.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": events}))
        words = ["overview"] if by == "overview" else ["stats", "--by", by]
        done = tprof(*words, "--plugin-compat", "--json", path)
        assert done.returncode == 0, done.stderr
        worker, = json.loads(done.stdout)["workers"]
        return worker
    return of


def kernels(worker):
    return sorted((row["name"], row["operator"], row["calls"], row["total_duration"]) for row in worker["rows"])


# --- kernels

ALONE = [step(1, 0, 100), op("aten::mm", 10, 20, 5), kernel("gemm", 30, 8, 77, 44)]


def test_a_kernel_without_its_call_hangs_on_each_thread_with_steps(ask):
    assert kernels(ask(ALONE, "kernel+op")) == [("gemm", "CallTreeRoot", 1, 8)]
    of_gpu = step(1, 5, 90, 7, "gpu_user_annotation")
    assert kernels(ask([*ALONE, of_gpu], "kernel+op")) == [("gemm", "CallTreeRoot", 2, 16)]


def test_a_thread_of_number_0_has_it_once(ask):
    of_gpu = step(1, 5, 90, 0, "gpu_user_annotation")
    assert kernels(ask([*ALONE, of_gpu], "kernel+op")) == [("gemm", "CallTreeRoot", 2, 16)]


def test_copies_without_their_call_are_no_kernels(ask):
    copy = x("gpu_memcpy", "Memcpy HtoD", 40, 4, 7, 0, correlation=78, device=0, stream=7)
    assert kernels(ask([*ALONE, copy], "kernel+op")) == [("gemm", "CallTreeRoot", 1, 8)]


ZERO = [step(1, 0, 100), op("aten::mm", 10, 20, 0), call(12, 3, 1, 0), kernel("gemm", 30, 8, 1, 0)]


def test_a_call_of_id_0_belongs_to_the_operator_of_that_id_and_to_its_thread(ask):
    assert kernels(ask(ZERO, "kernel+op")) == [("gemm", "CallTreeRoot", 2, 16)]
    product, = ask(ZERO, "op")["rows"]
    assert (product["device_self_duration"], product["host_self_duration"]) == (8, 17)


def test_it_counts_double_for_an_operator_of_a_later_thread(ask):
    other = [step(1, 0, 100), op("aten::add", 5, 4, 3), call(12, 3, 1, 0), op("aten::mm", 10, 20, 0, 2),
             kernel("gemm", 30, 8, 1, 0)]
    rows = {row["name"]: row for row in ask(other, "op")["rows"]}
    assert rows["aten::mm"]["device_self_duration"] == 16 and rows["aten::add"]["device_self_duration"] == 0
    assert kernels(ask(other, "kernel+op")) == [("gemm", "aten::mm", 2, 16)]


def test_a_launch_that_states_no_grid_has_none(ask):
    row, = ask(ALONE, "kernel+op")["rows"]
    assert (row["grid"], row["block"], row["registers_per_thread"]) == ("None", "None", 0)


def test_columns_are_those_of_what_any_kernel_states(ask):
    worker = ask([op("aten::mm", 10, 20, 5), kernel("gemm", 30, 8, 77, 44, blocks_per_SM=0.5)], "kernel+op")
    assert worker["rows"] == []  # no thread has steps
    assert [column["key"] for column in worker["columns"]][-2:] == ["min_duration", "mean_blocks_per_sm"]


def test_modules_of_lightning_are_called_as_its_profiler_calls_them(ask):
    events = [step(1, 0, 100), op("[pl][module]torch.nn.Linear: net.0", 10, 40, 4), call(12, 3, 1, 4),
              kernel("gemm", 30, 8, 1, 4), op("[pl][module]torch.nn.ReLU: net.0", 60, 20, 5), call(62, 3, 2, 5),
              kernel("gemm", 70, 8, 2, 5)]
    assert kernels(ask(events, "kernel+op", Framework="pytorch-lightning")) == [("gemm", "net.0", 2, 16)]


def test_a_gpu_with_an_empty_name_has_it(ask):
    gpu = {"id": 0, "name": "", "totalGlobalMem": 1 << 34, "computeMajor": 9, "computeMinor": 4}
    assert ask(ALONE, "overview", deviceProperties=[gpu])["gpu_summary"][1] == ["Name", ""]
    del gpu["name"]
    assert ask(ALONE, "overview", deviceProperties=[gpu])["gpu_summary"][1] == ["Memory", "16.0 GB"]


# --- operators

def test_durations_are_differences_of_doubles(ask):
    events = [step(1, MODERN, 100)]
    for i in range(100):
        events.append(op("short", MODERN + i, 0.1, 2 * i))
        events.append(op("longer", MODERN + i + 0.25, 0.4, 2 * i + 1))
    rows = {row["name"]: row for row in ask(events, "op")["rows"]}
    assert (rows["short"]["calls"], rows["short"]["host_total_duration"]) == (100, 0)
    assert (rows["longer"]["calls"], rows["longer"]["host_total_duration"]) == (100, 50)


def test_the_innermost_call_says_whether_tensor_cores_could_serve(ask):
    events = [op("aten::add", 10, 50, 1), op("aten::mul", 20, 10, 2), op("aten::add", 22, 4, 3),
              op("aten::mm", 40, 5, 4)]
    rows = {row["name"]: row for row in ask(events, "op")["rows"]}
    assert rows["aten::add"]["calls"] == 2 and rows["aten::add"]["tc_eligible"] == "No"


# --- modules and backward passes

def test_modules_that_begin_together_may_stand_in_any_order(ask):
    events = [step(1, 0, 100), module("Linear_0", 10, 20, 2, 1), module("Sequential_0", 10, 60, 1),
              op("aten::mm", 12, 3, 5)]
    rows = [(row["depth"], row["name"], row["operators"]) for row in ask(events, "module")["rows"]]
    assert rows == [(0, "Sequential_0", 0), (1, "Linear_0", 1)]


ENGINE = "autograd::engine::evaluate_function: MmBackward0"
BACKWARD = [step(1, 0, 1000), module("Linear_0", 10, 100, 1), op("aten::linear", 20, 60, 2),
            op("aten::mm", 20, 50, 3), op(ENGINE, 300, 100, 4, 2), op("MmBackward0", 310, 60, 5, 2),
            call(315, 4, 1, 5, 2), kernel("gemm", 400, 30, 1, 5), memory(305, 512, 64, 512, 2),
            memory(318, 1024, 128, 1536, 2), memory(50, 2048, 192, 2048), *arrow(1, 20, 310, 2)]


def test_what_stands_in_two_places_counts_twice(ask):
    """Two operators begin at the moment to which the arrow points: the backward pass is of both."""
    assert kernels(ask(BACKWARD, "kernel+op")) == [("gemm", "MmBackward0", 2, 60)]
    rows = {row["name"]: row for row in ask(BACKWARD, "op")["rows"]}
    assert rows["MmBackward0"]["calls"] == 2 and rows["MmBackward0"]["device_self_duration"] == 60


def test_a_thread_that_lost_its_nodes_has_named_its_kernels(ask):
    events = [*BACKWARD, op("aten::add", 500, 10, 0), call(306, 2, 2, 0, 2), kernel("add", 520, 5, 2, 0)]
    assert kernels(ask(events, "kernel+op"))[0] == ("add", "CallTreeRoot", 1, 5)
    rows = {row["name"]: row for row in ask(events, "op")["rows"]}
    assert rows["aten::add"]["device_self_duration"] == 5


def test_memory_of_a_thread_that_lost_its_nodes_is_lost(ask):
    worker = ask(BACKWARD, "memory")
    assert [(row["name"], row["calls"], row["size_increase"], row["self_size_increase"])
            for row in worker["rows"]] == [("aten::linear", 1, 2.0, 0.0), ("aten::mm", 1, 2.0, 2.0)]
    assert [row["operator"] for row in worker["events"]["rows"]] == ["aten::mm", "<unknown>", "<unknown>"]


def test_memory_in_two_places_is_twice_in_what_is_around_it(ask):
    events = [dict(e, tid=1) if e.get("tid") == 2 else e for e in BACKWARD]  # on the main thread: the root stays
    rows = {row["name"]: row for row in ask(events, "memory")["rows"]}
    values = {name: (row["calls"], row["size_increase"], row["self_size_increase"], row["allocation_count"])
              for name, row in rows.items()}
    assert values == {"aten::linear": (1, 2.0, 0.0, 1), "aten::mm": (1, 2.0, 2.0, 1),
                      ENGINE: (2, 4.0, 0.5, 5), "MmBackward0": (2, 2.0, 1.0, 2)}


def test_modules_called_anew_in_the_backward_pass_do_not_count(ask):
    events = [*BACKWARD[:8], module("Linear_0", 372, 20, 7, None, 2), op("aten::mm", 374, 10, 6, 2), *BACKWARD[-2:]]
    row, = ask(events, "module")["rows"]
    assert (row["name"], row["occurences"], row["operators"], row["host_duration"]) == ("Linear_0", 1, 1, 100)


# --- memory

def test_a_curve_of_many_points_is_thinned(ask):
    events, total = [op("aten::mm", 0, 20000, 1)], 0
    for i in range(6000):
        total += (i * 7919 % 1000 + 1) * 1024
        events.append(memory(3 * i + i % 2, 1024, i + 1, total % (1 << 24)))
    points = ask(events, "memory")["curve"]["CPU"]["points"]
    assert len(points) == 10240 and points[5000] == pytest.approx([10.14, 4.412109375, 0])
    assert [sum(point[i] for point in points) for i in (0, 1)] == pytest.approx([103343.36, 81705.2265625])
