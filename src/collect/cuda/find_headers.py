"""Prints the directories to be searched for a header of NVIDIA's (argument: its name) and for cuda.h; nothing if there are none."""
import glob
import os
import sys

places = []
if os.environ.get("CUDA_HOME"):
    places.append(os.path.join(os.environ["CUDA_HOME"], "include"))
    places.append(os.path.join(os.environ["CUDA_HOME"], "extras", "CUPTI", "include"))
places += ["/usr/local/cuda/include", "/usr/local/cuda/extras/CUPTI/include"]
for path in sys.path:  # pip's packages: nvidia/cu13, before that nvidia/cuda_cupti and nvidia/cuda_runtime
    places += sorted(glob.glob(os.path.join(path, "nvidia", "*", "include")))
found = {name: next((p for p in places if os.path.exists(os.path.join(p, name))), "") for name in (sys.argv[1], "cuda.h")}
if all(found.values()):
    print("\n".join(found.values()))
