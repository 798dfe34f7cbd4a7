"""Prints the directories in which NVIDIA's headers lie, one per line; nothing if they are not all there. Looked through: CUDA_HOME,
the toolkit's usual place, and pip's packages (nvidia/cu13; before that nvidia/cuda_cupti, nvidia/cuda_runtime, ...)."""
import glob
import os
import sys

WANTED = ("cuda.h", "cuda_runtime_api.h", "cuda_occupancy.h", "cupti.h", "nvtx3/nvToolsExtPayload.h")

places = []
if os.environ.get("CUDA_HOME"):
    places.append(os.path.join(os.environ["CUDA_HOME"], "include"))
    places.append(os.path.join(os.environ["CUDA_HOME"], "extras", "CUPTI", "include"))
places += ["/usr/local/cuda/include", "/usr/local/cuda/extras/CUPTI/include"]
for path in sys.path:
    places += sorted(glob.glob(os.path.join(path, "nvidia", "*", "include")))
found = [next((p for p in places if os.path.exists(os.path.join(p, name))), None) for name in WANTED]
if None not in found:
    print("\n".join(dict.fromkeys(found)))
