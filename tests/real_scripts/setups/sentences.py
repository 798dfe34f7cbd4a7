"""datasets/synthetic_data: 320 and 160 lines of 8 words."""
import os
import random


def before(work, spec):
    folder = os.path.join(work, "datasets/synthetic_data")
    os.makedirs(folder)
    source = random.Random(1)
    for name, lines in (("train", 320), ("test", 160)):
        with open(os.path.join(folder, f"synthetic_{name}.txt"), "w", encoding="utf-8") as file:
            for _ in range(lines):
                print(*[source.randrange(20) for _ in range(8)], file=file)
