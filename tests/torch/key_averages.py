"""Trains a little under torch.profiler; writes its trace and what its key_averages() says.

    key_averages.py DIRECTORY
"""
import fractions
import inspect
import json
import sys

import torch
from torch.autograd.profiler_util import MemRecordsAcc
from torch.profiler import ProfilerActivity, profile, record_function


class Exact(int):
    """Nanoseconds since the epoch, whose thousandth is no float."""

    def __truediv__(self, by):
        return fractions.Fraction(int(self), by)


def give_memory_to_its_operators():
    """Torch 2.6 looks for an operator's memory between its begin and end in microseconds since the epoch: floats, 250 ns
    apart, and so misses some of its memory or takes its neighbours'."""
    if "start_us" in inspect.signature(MemRecordsAcc.in_interval).parameters:
        event = torch._C._autograd._KinetoEvent
        for name in ("start_ns", "end_ns"):
            setattr(event, name, lambda self, exactly=getattr(event, name): Exact(exactly(self)))


def figures(averages):
    return [{"name": one.key, "shapes": str(one.input_shapes or "[]"), "calls": one.count,
             "host_total_us": one.cpu_time_total, "host_self_us": one.self_cpu_time_total,
             "cpu_memory_usage": one.cpu_memory_usage, "self_cpu_memory_usage": one.self_cpu_memory_usage}
            for one in averages]


def main():
    give_memory_to_its_operators()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as prof:
        for _ in range(3):
            with record_function("forward"):
                loss = model(torch.ones(8, 20)).square().sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            torch.cat([torch.ones(2, 3), torch.zeros(2, 3)]).to(torch.float64)
            prof.step()
    prof.export_chrome_trace(sys.argv[1] + "/here_1.1.pt.trace.json")
    averages = prof.key_averages()
    with open(sys.argv[1] + "/answers.json", "w") as file:
        json.dump({"by_name": figures(averages), "by_shape": figures(prof.key_averages(group_by_input_shape=True)),
                   "self_cpu_time_total_us": averages.self_cpu_time_total}, file)


main()
