"""Uses CUDA through a library of its own, and torch only afterwards: plugin_then_torch.py LIBRARY STEPS"""
import ctypes
import pathlib
import sys

plugin = ctypes.CDLL(sys.argv[1])
print("before", plugin.plugin_run(3))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import loop  # noqa: E402  (imports torch)

for i in range(int(sys.argv[2])):
    loop.step()
print("after", plugin.plugin_run(4))
