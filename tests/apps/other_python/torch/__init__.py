"""Stands for torch where there is none: its one operator is a CUDA call, straight into the wrapped function."""
import ctypes
import os

__version__ = "0.0"
_runtime = ctypes.CDLL(os.environ["CUDA_STUB"])
_synchronize = ctypes.CDLL(None).cudaDeviceSynchronize
_synchronize()  # a program without torch is joined by its first CUDA call


class _Tensor:
    sgn = staticmethod(_synchronize)


def ones(_):
    return _Tensor()
