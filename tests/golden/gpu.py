"""Makes gpu.1.pt.trace.json.gz and gpu.plugin.json anew, after a change in what tprof writes of GPUs:

    TB_PLUGIN=<tb_plugin of pytorch/kineto> TBCHECK=<tbcheck.py> TPROF_BUILD=build /usr/bin/python3 tests/golden/gpu.py
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def make_trace(directory, build):
    """Converts the recording that golden/gpu.cpp writes; the trace's path."""
    recording = pathlib.Path(directory) / "gpu.tprof"
    subprocess.run([str(build / "tests" / "golden_gpu"), str(recording)], check=True)
    subprocess.run([str(build / "tools" / "tprof"), "convert", str(recording)], check=True, capture_output=True)
    recording.unlink()
    path, = pathlib.Path(directory).glob("*.pt.trace.json.gz")
    return path


def ask_plugin(directory):
    """What the plugin's own code answers for a directory with one trace."""
    result = subprocess.run(["/usr/bin/python3", os.environ["TBCHECK"], str(directory), "--full"],
                            capture_output=True, text=True)
    answers = json.loads(result.stdout)
    run, = answers["runs"].values()
    worker, = run["workers"].values()
    views, = worker.values()
    return {"views": run["views"], "overview": views["Overview"],
            "operators": views["Operator"]["Operation"]["rows"],
            "kernels": views["Kernel"]["by_kernel"], "kernels_by_operator": views["Kernel"]["by_kernel_and_op"],
            "memory": views["Memory"],
            "complaints": answers["dropped"] + answers["warnings"] + answers["problems"]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        path = make_trace(directory, pathlib.Path(os.environ["TPROF_BUILD"]).resolve())
        answers = ask_plugin(directory)
        text = re.sub(rb'"traceName": "[^"]*"', b'"traceName": ""', gzip.open(path).read())
        (HERE / "gpu.1.pt.trace.json.gz").write_bytes(gzip.compress(text, mtime=0))
    (HERE / "gpu.plugin.json").write_text(json.dumps(answers, indent=1) + "\n")
    sys.exit(bool(answers["complaints"]))
