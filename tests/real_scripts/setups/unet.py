"""data/imgs and data/masks: pictures and their masks; a name that older versions of torch lack."""
import os


def before(work, spec):
    import numpy
    import torch
    from PIL import Image
    if not hasattr(torch.cuda, "OutOfMemoryError"):
        torch.cuda.OutOfMemoryError = MemoryError
    for name in ("imgs", "masks"):
        os.makedirs(os.path.join(work, "data", name), exist_ok=True)
    for i in range(20):
        source = numpy.random.RandomState(i)
        Image.fromarray(source.randint(0, 255, (32, 32, 3), dtype="uint8")).save(
            os.path.join(work, "data", "imgs", f"{i}.png"))
        Image.fromarray((source.randint(0, 2, (32, 32)) * 255).astype("uint8")).save(
            os.path.join(work, "data", "masks", f"{i}_mask.png"))
