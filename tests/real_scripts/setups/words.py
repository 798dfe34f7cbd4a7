"""A corpus of words: words/train.txt, valid.txt and test.txt."""
import os
import random


def before(work, spec):
    folder = os.path.join(work, spec["options"].get("folder", "words"))
    os.makedirs(folder, exist_ok=True)
    source = random.Random(1)
    for name, lines in (("train", 250), ("valid", 40), ("test", 40)):
        with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
            for _ in range(lines):
                file.write(" ".join(f"word{source.randrange(50)}" for _ in range(9)) + "\n")
