"""corpus.txt, two sentences a line, and its vocabulary."""
import os
import random


def before(work, spec):
    from bert_pytorch.dataset import WordVocab
    source = random.Random(1)
    lines = ["\t".join(" ".join(str(source.randrange(30)) for _ in range(5)) for _ in range(2)) for _ in range(96)]
    with open(os.path.join(work, "corpus.txt"), "w", encoding="utf-8") as file:
        print(*lines, sep="\n", file=file)
    with open(os.path.join(work, "test.txt"), "w", encoding="utf-8") as file:
        print(*lines[:32], sep="\n", file=file)
    WordVocab(lines).save_vocab(os.path.join(work, "vocab"))
