"""A CuPy program that counts itself what it does: kernels of its own, copies and sets. Prints that as JSON."""
import json

import cupy
import numpy

COUNT, LAUNCHES = 1 << 20, 40

axpy = cupy.RawKernel(r"""
extern "C" __global__ void gputest_axpy(const float* x, const float* y, float* out, float a, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a * x[i] + y[i];
}""", "gputest_axpy")
square = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "gputest_square")


def main():
    host = numpy.arange(COUNT, dtype=numpy.float32)
    x = cupy.asarray(host)
    out = cupy.empty_like(x)
    for _ in range(LAUNCHES):
        axpy((COUNT // 256,), (256,), (x, x, out, numpy.float32(2), numpy.int32(COUNT)))
    y = square(out)
    out.data.memset(0, out.nbytes)
    back = y.get()
    cupy.cuda.Device().synchronize()
    assert back[3] == 81 and not out.get().any()
    print(json.dumps({"kernels": {"gputest_axpy": LAUNCHES, "gputest_square": 1},
                      "copies": {"HtoD": [1, host.nbytes], "DtoH": [2, 2 * host.nbytes]}, "sets": [1, host.nbytes]}))


if __name__ == "__main__":
    main()
