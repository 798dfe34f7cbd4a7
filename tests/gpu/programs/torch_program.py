"""Runs one of models.py, bare or under tprof, or inside torch.profiler on the same steps.

    torch_program.py MODEL [--size small|large] [--profiler OUT] [--steps N --first A --end B] [--cuda-profiler]

Each step ends with the GPU idle, and with tprof_step() when tprof is there. Prints one line of JSON at the end.
"""
import argparse
import contextlib
import ctypes
import gc
import json

import torch

import models


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=list(models.MODELS))
    parser.add_argument("--size", default="small")
    parser.add_argument("--profiler", metavar="OUT", help="torch.profiler writes its trace there")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--first", type=int, default=5, help="first step of the window")
    parser.add_argument("--end", type=int, default=8, help="one behind the last")
    parser.add_argument("--cuda-profiler", action="store_true", help="cudaProfilerStart and Stop around the window")
    return parser.parse_args()


def profiler(asked):
    from torch.profiler import ProfilerActivity, profile, schedule
    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True,
                   schedule=schedule(wait=asked.first - 1, warmup=1, active=asked.end - asked.first, repeat=1),
                   on_trace_ready=lambda p: p.export_chrome_trace(asked.profiler))


def main():
    asked = options()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.cuda.init()
    gc.disable()  # a collection would free tensors at other moments
    end_of_step = getattr(ctypes.CDLL(None), "tprof_step", int)
    step = models.MODELS[asked.model](asked.size)
    scheduled = profiler(asked) if asked.profiler else None
    peak = 0
    with scheduled or contextlib.nullcontext():
        for i in range(asked.steps):
            if i == asked.first:
                torch.cuda.reset_peak_memory_stats()
                if asked.cuda_profiler:
                    torch.cuda.profiler.start()
            loss = step()
            torch.cuda.synchronize()
            if i + 1 == asked.end:
                peak = torch.cuda.max_memory_allocated()
                if asked.cuda_profiler:
                    torch.cuda.profiler.stop()
            end_of_step()
            if scheduled:
                scheduled.step()
    print(json.dumps({"peak": peak, "loss": float(loss.mean())}))


if __name__ == "__main__":
    main()
