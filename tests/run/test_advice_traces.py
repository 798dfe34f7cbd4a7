"""For each rule of tprof advise a real trace where it is right, and one where silence is.

A row says where: a scenario of apps/advice.py, which is recorded here, a trace of golden/kineto-traces, or a trace of a
public repository. Those are not committed: where TPROF_PUBLIC_TRACES names a directory that holds them as
OWNER/NAME/PATH (behind a "!" the member of an archive), their rows are tested too.
"""
import json
import os
import pathlib
import re

import pytest

from harness import REPO, TESTS, run, tprof

GOLDEN = TESTS / "golden" / "kineto-traces"
PUBLIC = os.environ.get("TPROF_PUBLIC_TRACES")

SLOW_LOADER, FAST_LOADER = "golden: resnet50_num_workers_0", "golden: resnet50_num_workers_4"
HTA = "facebookresearch/HolisticTraceAnalysis/tests/data/"
CONTROL, QUEUE = HTA + "trace_diff/control/control.json.gz", HTA + "negative_queue_length_values_check/rank0.json.gz"
COMPARED = HTA + "trace_diff/test/test.json.gz"
DLRM = "facebookresearch/param/et_replay/tests/inputs/dlrm_kineto.tar.gz!dlrm_kineto/"
DLRM_1 = DLRM + "worker1_step_12.1694128201556.pt.trace.json"
DLRM_5 = DLRM + "worker5_step_12.1694128201549.pt.trace.json"
RESNET = "facebookresearch/param/et_replay/tests/inputs/resnet_kineto.json.gz"
TRACELENS = "AMD-AGI/TraceLens/tests/traces/"
EAGER = TRACELENS + "b200/eager_trace.json.gz"
DECODE = TRACELENS + "inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz"
DETECTOR = TRACELENS + "h100/google_owlv2-large-patch14-ensemble__1016001.json.gz"
CLASSIFIER = TRACELENS + "h100/Falconsai_nsfw_image_detection__1016002.json.gz"
ON_AMD = TRACELENS + "mi300/Falconsai_nsfw_image_detection__1016002.json.gz"
CHAT = TRACELENS + "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
VIDEO = TRACELENS + "h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz"
CHECKPOINTED = TRACELENS + "mi300/resnet_act_checkpoint.json.gz"
AUTOGRAD = "pytorch/kineto/tb_plugin/samples/resnet50_autograd_api_num_workers_0/worker0.pt.trace.json.gz"
SWITCH = "CodingPlatelets/SwitchTransformers/result/"

# Rule: where it is right, and what a reader sees there; where silence is, and what speaks against it.
ROWS = {
    "DL1": [("here: loaded in the process", "drawing batches takes most of the step"),
            (FAST_LOADER, "0.1 % of the step")],
    "DL2": [(DLRM_1, "1.1 of 19.9 ms in _SingleProcessDataLoaderIter"), (FAST_LOADER, "worker processes")],
    "DL3": [("here: workers started anew", "a fork and a late first batch in each epoch"),
            ("here: workers kept", "persistent_workers=True")],
    "CM2": [(COMPARED, "12.2 ms a step of all-reduce, at its end"),
            (DLRM_5, "24 KB in 4.7 ms, where another one takes 0.13: other ranks are late")],
    "UT1": [None, (EAGER, "kernels run 12 % of the time, and operators are the reason")],
    "HB1": [(EAGER, "73 % of the time the GPU waits for operators and Python"), (SLOW_LOADER, "it waits for batches")],
    "PY1": [("here: slow Python", "the loop makes strings between steps"),
            ("here: large products", "one mm after another")],
    "LN1": [(EAGER, "a tenth of the time behind cudaLaunchKernel"), (DECODE, "one graph is replayed")],
    "TK1": [(EAGER, "661 of 929 works are shorter than their launch, and the GPU waits"),
            (SLOW_LOADER, "63 % are shorter, but the queue is full")],
    "SY1": [(AUTOGRAD, "one aten::copy_ a step drains the queue"), (CONTROL, "copies wait, with work behind them")],
    "AL1": [None, (SLOW_LOADER, "no cudaMalloc behind the first step")],
    "GP1": [(QUEUE, "kernels launched 140 ms ahead stand apart"), (DECODE, "one gap, at its begin")],
    "CP1": [("pytorch/benchmark/trace.json", "copies to the device, and nothing else"),
            (COMPARED, "8.9 % of the step, behind kernels")],
    "CP2": [("gpu-mode/profiling-cuda-in-torch/trace.json", "381 MiB from pageable memory"),
            (SWITCH + "trace.json", "copies of a few bytes")],
    "CP3": [None, (RESNET, "61 copies in all of 30 iterations, each a batch or its labels")],
    "TC1": [(SLOW_LOADER, "volta_sgemm and cuDNN in float32 on a V100"), (ON_AMD, "MFMA kernels")],
    "PT1": [(SWITCH + "trace_100Kpar_4exp_8batch_128seq_1024.json", "half of the time in sgemm on an A100"),
            (VIDEO, "bfloat16")],
    "PT2": [None, (CLASSIFIER, "197 tokens, as rows only: kernels named align8")],
    "AT1": [(DETECTOR, "bmm, softmax and bmm over 5185 tokens take 491 ms, 41 % of a step"),
            (CHAT, "scaled_dot_product_attention")],
    "BL1": [None, (SLOW_LOADER, "its products are the GPU's")],
    "RF1": [(CHAT, "24 attentions with a mask, at 19 % of the roof"), (SLOW_LOADER, "none is below 30 %")],
    "OP1": [(DLRM_5, "64 small kernels, and no kernel runs for 0.9 of 17.8 ms"),
            (SLOW_LOADER, "483 kernels, all hidden behind the backward pass")],
    "OP2": [(SLOW_LOADER, "161 fills a step"), (CHAT, "inference")],
    "PT3": [("here: bias before norm", "so it is written"), ("here: norm without bias", "so it is written")],
    "PT4": [("here: elements read", "x[i, j].item() over 1024 elements"), ("here: whole tensors", "one sum")],
    "PT5": [None, (SLOW_LOADER, "no tensor is filled before it is moved")],
    "PT6": [(CHAT, "96 calls of contiguous in 50 ms"), (SLOW_LOADER, "none")],
    "MEM1": [None, (TRACELENS + "inference/vllm_decode_full/capture_traces/graph_capture_rank_0.1773709742341309550.pt"
                    ".trace.json.gz", "178 of 192 GB, taken by a server before")],
    "MEM2": [("here: batches kept", "each batch stays in a list"),
             ("here: numbers kept", "the same loop keeps floats")],
    "MEM3": [None, (VIDEO, "4 GB reserved of 80")],
    "DP1": [None, (SLOW_LOADER, "one GPU")],
    "BE1": [None, (CONTROL, "NCCL")],
    "VR1": [(FAST_LOADER, "step 21 took 203 ms, the others about 123"),
            (CHECKPOINTED, "only the first step is longer")],
    "WU1": [(QUEUE, "the first step took 372 ms, the others about 216"), (SLOW_LOADER, "the first is as the others")],
    "WU2": [(SWITCH + "trace.json", "the first launches took 480 of 593 ms"), (SLOW_LOADER, "behind a warm-up")],
    "PR1": [("JeremyMorlier/GPUModel/trace3.json", "CUPTI's events take 1.8 of 2.4 ms"), (CONTROL, "0.1 %")],
    "RK1": [None, (SLOW_LOADER, "one process")],  # right: test_ranks.py has a job of two ranks
    "CM1": [(HTA + "df_index_resolver/df_index_resolver.json.gz", "404 all-reduces take 60 to 119 ms of a step"),
            (DLRM_1, "all-to-all of lookups; gradients take 1.8 ms")],
}
CASES = [pytest.param(rule, i == 0, where[0], id="%s-%s" % (rule, ("silent", "right")[i == 0]))
         for rule, pair in ROWS.items() for i, where in enumerate(pair) if where]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """By scenario: its log directory, recorded when first asked for."""
    made = {}

    def directory(scenario):
        if scenario not in made:
            made[scenario] = tmp_path_factory.mktemp("advice")
            memory = {"TPROF_PROFILE_MEMORY": "1"} if "kept" in scenario and "workers" not in scenario else {}
            result = run(["advice.py", scenario], "run", logdir=made[scenario], options=memory)
            assert result.returncode == 0, result.stderr
        return made[scenario]
    return directory


def place(where, recorded):
    kind, _, name = where.partition(": ")
    if kind == "here":
        return recorded(name)
    if kind == "golden":
        return GOLDEN / name
    path = pathlib.Path(PUBLIC or "") / where
    if not PUBLIC or not path.exists():
        pytest.skip("TPROF_PUBLIC_TRACES does not hold it")
    return path


@pytest.mark.parametrize("rule, found, where", CASES)
def test_a_rule_speaks_where_it_is_right_and_else_is_silent(rule, found, where, recorded):
    done = tprof("advise", place(where, recorded), "--json")
    assert done.returncode == 0, done.stderr
    workers = json.loads(done.stdout)["workers"]
    waited = re.search(r"for (\d+) % of the time the main thread waited", " ".join(workers[0]["not_known"]))
    if rule == "PY1" and waited and int(waited[1]) > 50:
        pytest.skip("other programs took the CPU: what Python itself took is not known")
    shown = [r for w in workers for r in w["recommendations"] if not r["minor"]]
    assert (rule in [r["id"] for r in shown]) == found, [(r["id"], r["text"]) for r in shown]


def test_each_rule_has_its_rows():
    table = (REPO / "src" / "analysis" / "advice" / "advice.def").read_text()
    assert sorted(re.findall(r'^RULE\(\w+, "(\w+)"', table, re.M)) == sorted(ROWS)
