"""Prints the directories of NVIDIA's headers, one per line; nothing if some are missing. It looks in CUDA_HOME, in the
toolkit's usual directory, and in pip's packages (nvidia/cu13; before that nvidia/cuda_cupti, nvidia/cuda_runtime, ...)."""
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
