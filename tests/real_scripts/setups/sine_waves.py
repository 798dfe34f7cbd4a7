"""traindata.pt, as generate_sine_wave.py beside the script writes it, but smaller."""


def before(work, spec):
    import numpy
    import torch
    steps = numpy.arange(60) + numpy.random.RandomState(2).randint(-80, 80, 10).reshape(10, 1)
    torch.save(numpy.sin(steps / 20.0), "traindata.pt")
    load = torch.load
    torch.load = lambda *args, **kwargs: load(*args, **({"weights_only": False} if torch.__version__ > "2" else {}), **kwargs)
