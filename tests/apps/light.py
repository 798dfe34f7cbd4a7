"""An optimizer of torch 2 imports torch._dynamo, three seconds of a processor, for a decorator that changes nothing in a
program that compiles nothing. For programs that are started hundreds of times; those of tests/torch and tests/pip have it."""
import sys
import types

import torch

if "torch._dynamo" not in sys.modules and torch.__version__ >= "2":
    stub = types.ModuleType("torch._dynamo")
    stub.disable = lambda function, recursive=True, **more: function
    stub.graph_break = lambda: None
    sys.modules["torch._dynamo"] = torch._dynamo = stub
