"""cache/tiny_nerf_data.npz: 106 small random pictures and poses."""
import os


def before(work, spec):
    import numpy
    os.makedirs(os.path.join(work, "cache"), exist_ok=True)
    random = numpy.random.RandomState(0)
    poses = numpy.tile(numpy.eye(4, dtype="float32"), (106, 1, 1))
    poses[:, :3, 3] = random.randn(106, 3)
    numpy.savez(os.path.join(work, "cache", "tiny_nerf_data.npz"), images=random.rand(106, 12, 12, 3).astype("float32"),
                poses=poses, focal=numpy.array(13.0, dtype="float32"))
