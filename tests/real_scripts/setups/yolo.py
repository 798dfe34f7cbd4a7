"""A small model and 14 pictures with boxes; imgaug, without augmenting."""
import os
import re
import sys
import types


class Box:
    def __init__(self, x1, y1, x2, y2, label=None):
        self.x1, self.y1, self.x2, self.y2, self.label = x1, y1, x2, y2, label


class Boxes(list):
    def __init__(self, boxes, shape=None):
        super().__init__(boxes)

    def clip_out_of_image(self):
        return self


class Augmenter:
    def __init__(self, *args, **kwargs):
        pass

    def to_deterministic(self):
        return self

    def __call__(self, image, bounding_boxes):
        return image, bounding_boxes


def before(work, spec):
    import numpy
    from PIL import Image
    names = ("imgaug", "imgaug.augmenters", "imgaug.augmentables", "imgaug.augmentables.bbs")
    imgaug, augmenters, augmentables, bbs = (types.ModuleType(name) for name in names)
    imgaug.seed = lambda seed: None
    imgaug.augmenters = augmenters
    for name in ("Sequential", "Sharpen", "Affine", "AddToBrightness", "AddToHue", "Fliplr", "Dropout", "PadToAspectRatio"):
        setattr(augmenters, name, Augmenter)
    bbs.BoundingBox, bbs.BoundingBoxesOnImage = Box, Boxes
    sys.modules.update(zip(names, (imgaug, augmenters, augmentables, bbs)))
    with open(os.path.join(spec["checkout"], "config", "yolov3-tiny.cfg"), encoding="utf-8") as file:
        text = file.read()
    for old, new in {"batch=64": "batch=4", "width=416": "width=64", "height=416": "height=64"}.items():
        text = text.replace(old, new)
    text = re.sub(r"filters=(256|512|1024)\b", "filters=16", text)
    with open(os.path.join(work, "tiny.cfg"), "w", encoding="utf-8") as file:
        file.write(text)
    random = numpy.random.RandomState(0)
    for folder in ("images", "labels"):
        os.makedirs(os.path.join(work, folder))
    for name, numbers in (("train", range(14)), ("valid", range(14, 18))):
        with open(os.path.join(work, name + ".txt"), "w", encoding="utf-8") as file:
            for i in numbers:
                picture = os.path.join(work, "images", f"{i}.png")
                Image.fromarray(random.randint(0, 255, (64, 64, 3), dtype="uint8")).save(picture)
                with open(os.path.join(work, "labels", f"{i}.txt"), "w", encoding="utf-8") as labels:
                    labels.write(f"{i % 3} 0.5 0.5 0.4 0.3\n{i % 5} 0.3 0.6 0.2 0.2\n")
                file.write(picture + "\n")
    with open(os.path.join(work, "names"), "w", encoding="utf-8") as file:
        file.write("".join(f"class{i}\n" for i in range(80)))
    with open(os.path.join(work, "small.data"), "w", encoding="utf-8") as file:
        file.write(f"classes=80\ntrain={work}/train.txt\nvalid={work}/valid.txt\nnames={work}/names\n")
