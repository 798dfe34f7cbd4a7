"""Edits of files that the script imports, in the copy that it runs in: options["files"], path -> {text: text}."""
import os


def before(work, spec):
    for path, edits in spec["options"]["files"].items():
        path = os.path.join(work, path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in edits.items():
            if old not in text:
                raise ValueError(f"{path} does not say {old}")
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
