"""Two training processes started as launchers do: a torch-free parent, RANK and WORLD_SIZE in the environment."""
import os
import pathlib
import subprocess
import sys

train = str(pathlib.Path(__file__).with_name("train.py"))
children = [subprocess.Popen([sys.executable, train, "6"], env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"},
                             stdout=subprocess.DEVNULL) for rank in range(2)]
print([child.wait() for child in children])
