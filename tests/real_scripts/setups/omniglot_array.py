"""omniglot/omniglot.npy: [characters, 20, 1, 28, 28]; the script splits at character 1200."""
import os


def before(work, spec):
    import numpy
    numpy.int, numpy.float = int, float  # names that numpy has removed
    os.makedirs(os.path.join(work, "omniglot"), exist_ok=True)
    pictures = numpy.random.RandomState(0).randint(0, 2, (1210, 20, 1, 28, 28)).astype(numpy.float16)
    numpy.save(os.path.join(work, "omniglot", "omniglot.npy"), pictures)
