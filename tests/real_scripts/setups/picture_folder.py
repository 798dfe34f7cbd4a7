"""Folders of pictures: pictures/{train,validation}/{a,b}/*.png, or as the options say."""
import os


def before(work, spec):
    import numpy
    from PIL import Image
    options = spec["options"]
    side = options.get("side", 32)
    for split, count in (("train", options.get("count", 40)), (options.get("test", "validation"), 12)):
        for name in [""] if options.get("flat") else options.get("names", ["a", "b"]):
            folder = os.path.join(work, options.get("root", "pictures"), split, name)
            os.makedirs(folder, exist_ok=True)
            for i in range(count):
                pixels = numpy.random.RandomState(i).randint(0, 255, (side, side, 3), dtype="uint8")
                Image.fromarray(pixels).save(os.path.join(folder, f"{i}.png"))
