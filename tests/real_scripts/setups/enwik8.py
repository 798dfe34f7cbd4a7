"""data/enwik8.gz with 100000 bytes."""
import gzip
import os


def before(work, spec):
    os.makedirs(os.path.join(work, "data"), exist_ok=True)
    with gzip.open(os.path.join(work, "data", "enwik8.gz"), "wb") as file:
        file.write(b"some words of text " * 5200)
