"""data/characters: token files and meta.pkl as nanoGPT's prepare.py writes them."""
import os
import pickle


def before(work, spec):
    import numpy
    folder = os.path.join(work, "data", "characters")
    os.makedirs(folder, exist_ok=True)
    for name in ("train", "val"):
        numpy.random.RandomState(0).randint(0, 64, 2000).astype(numpy.uint16).tofile(os.path.join(folder, name + ".bin"))
    with open(os.path.join(folder, "meta.pkl"), "wb") as file:
        pickle.dump({"vocab_size": 64}, file)
