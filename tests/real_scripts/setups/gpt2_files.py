"""What GPT-2 scripts download: token files, a tokenizer and the HellaSwag questions."""
import json
import os
import sys
import types


class Encoding:
    n_vocab, eot_token = 500, 499

    def encode(self, text, **kwargs):
        return [1 + ord(letter) % 60 for letter in text[:8]] or [1]

    encode_ordinary = encode

    def decode(self, tokens):
        return "x" * len(tokens)


def before(work, spec):
    import numpy
    tiktoken = types.ModuleType("tiktoken")
    tiktoken.get_encoding = lambda name: Encoding()
    sys.modules["tiktoken"] = tiktoken
    tokens = numpy.random.RandomState(0).randint(0, 64, 4000).astype(numpy.uint16)
    header = numpy.zeros(256, numpy.int32)
    header[:3] = 20240520, 1, len(tokens)
    for name in ("train", "val"):
        with open(os.path.join(work, name + ".bin"), "wb") as file:
            file.write(header.tobytes() + tokens.tobytes())
        os.makedirs(os.path.join(work, "edu_fineweb10B"), exist_ok=True)
        numpy.save(os.path.join(work, "edu_fineweb10B", f"{name}_0.npy"), tokens)
    os.makedirs(os.path.join(work, "hellaswag"), exist_ok=True)
    with open(os.path.join(work, "hellaswag", "hellaswag_val.jsonl"), "w", encoding="utf-8") as file:
        for i in range(3):
            print(json.dumps({"ctx": f"question {i}", "label": i, "endings": ["a", "bb", "ccc", "dddd"]}), file=file)
