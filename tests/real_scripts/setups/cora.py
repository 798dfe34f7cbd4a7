"""cora.content and cora.cites: 1500 papers of 20 words and 7 subjects."""
import os
import random


def before(work, spec):
    folder = os.path.join(work, spec["options"]["folder"])
    os.makedirs(folder, exist_ok=True)
    source = random.Random(1)
    with open(os.path.join(folder, "cora.content"), "w", encoding="utf-8") as file:
        for i in range(1500):
            print(i, *[source.randrange(2) for _ in range(19)], 1, f"subject{i % 7}", file=file)
    with open(os.path.join(folder, "cora.cites"), "w", encoding="utf-8") as file:
        for i in range(1500):
            print(i, source.randrange(1500), file=file)
