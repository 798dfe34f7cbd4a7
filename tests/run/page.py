"""What a page of `tprof report` holds, read without a browser: by src/report/page.h and pack.h."""
import base64
import html.parser
import json
import pathlib
import struct
import zlib


class Elements(html.parser.HTMLParser):
    """(tag, attributes, text) of each script and style; every tag that there is."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.found, self.open = set(), [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open = tag
        if tag in ("script", "style", "meta"):
            self.found.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open in ("script", "style"):
            self.found[-1][2] += data


def elements(path):
    return Elements(pathlib.Path(path).read_text())


def documents(path):
    """All documents, with their rows and values in place; what was left out stays {"left_out": bytes}. The columns of
    the timeline have a form of their own, which tests/page reads."""
    blobs = {attributes["id"]: text for tag, attributes, text in elements(path).found
             if tag == "script" and attributes.get("type") == "text/plain"}
    found = unpack(blobs["tprof-document"])["value"]
    return {key: value if key == "timeline" else whole(value, blobs) for key, value in found.items()}


def whole(value, blobs):
    if isinstance(value, list):
        return [whole(one, blobs) for one in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["packed"]:
        unpacked = unpack(blobs["tprof-blob-%d" % value["packed"]])
        return unpacked["value"] if isinstance(unpacked, dict) else unpacked
    return {key: whole(one, blobs) for key, one in value.items()}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def unpack(text):
    """The rows of a table as --json has them, or {"value": ...}."""
    data = zlib.decompress(base64.b64decode(text, validate=True), -15)
    size, at = varint(data, 0)
    head = json.loads(data[at:at + size])
    at += size
    if "value" in head:
        return head
    rows = [{} for _ in range(head["n"])]
    for column in head["columns"]:
        last = 0
        for index, row in enumerate(rows):
            if column["as"] == "json":
                value = column["values"][index]
            elif column["as"] == "double":
                value, = struct.unpack_from("<d", data, at)
                at += 8
                value = None if value != value else value
            else:
                coded, at = varint(data, at)
                if coded == 0:
                    value = None
                elif column["as"] == "text":
                    value = head["strings"][coded - 1]
                else:
                    last += (coded - 1) // 2 if coded % 2 else -(coded // 2)
                    value = last / 1000 if column["as"] == "ns" else last
            row[column["key"]] = value
    assert at == len(data)
    return rows
