"""Runs a program of this folder within torch.profiler, which writes its own trace of all that the program does.

    in_torch_profiler.py TRACE PROGRAM [ARGUMENT...]
"""
import pathlib
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def main(trace, program, *arguments):
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    torch.cuda.init()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
                 profile_memory=True) as profiler:
        runpy.run_path(program, run_name="__main__")
    profiler.export_chrome_trace(trace)


if __name__ == "__main__":
    main(*sys.argv[1:])
