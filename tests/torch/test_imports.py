"""However a program imports torch, it is profiled; and an import that fails, fails as without tprof."""
import pytest

from harness import both, run

WAYS = {
    "statement": "import torch",
    "submodule": "import torch.nn as nn; import torch",
    "from": "from torch import nn; import torch",
    "function": "torch = __import__('torch')",
    "module by name": "import importlib; torch = importlib.import_module('torch')",
    "submodule by name": "import importlib; importlib.import_module('torch.nn'); import torch",
    "on a thread": "import importlib, threading\n"
                   "t = threading.Thread(target=importlib.import_module, args=('torch',)); t.start(); t.join(); import torch",
}
TRAINING = """
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print(type(torch.__spec__).__name__, torch.__spec__._initializing)
"""


@pytest.mark.spread(2)
@pytest.mark.parametrize("way", WAYS)
def test_its_steps_are_seen(way, torch_machine, logdir):
    result = run(["-c", WAYS[way] + TRAINING], "run", where=torch_machine, logdir=logdir)
    assert (result.returncode, result.stdout) == (0, "ModuleSpec False\n"), result.stderr
    trace, = result.traces()
    assert trace.steps() == [0, 1, 2] and trace.ops("aten::linear")


@pytest.mark.parametrize("way", ["import torch", "importlib.import_module('torch')"])
def test_an_import_that_fails_fails_in_the_same_way(way, tmp_path):
    package = tmp_path / "packages" / "torch"
    package.mkdir(parents=True)
    (package / "part.py").write_text("")
    (package / "__init__.py").write_text("import torch.part\nraise ImportError('no GPU driver')\n")
    script = ("import importlib, sys, traceback\nfor _ in range(2):\n  try:\n    %s\n  except ImportError as e:\n"
              "    print(e, [f.name for f in traceback.extract_tb(e.__traceback__)], 'torch' in sys.modules)\n" % way)
    results = both(["-c", script], tmp_path, env={"PYTHONPATH": str(package.parent)})
    assert results["bare"].stdout.count("no GPU driver") == 2
