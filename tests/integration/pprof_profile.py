# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in pprof's format: a reader of our own, by the wire format of Protocol Buffers (protobuf.dev,
"Encoding") and the field numbers of pprof's profile.proto; and the real pprof, from the distribution's Go package."""
import gzip
import os
import shutil
import subprocess

from tap import needs


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field: an integer, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a field that is longer than its message"
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}, which profiles have none of")
        yield key >> 3, value


def integers(values):
    """Of a repeated field, packed or not; signed."""
    result = []
    for value in values:
        if isinstance(value, int):
            result.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            result.append(one)
    return [value - (1 << 64) if value >> 63 else value for value in result]


class Message(dict):
    def __init__(self, data):
        for number, value in fields(data):
            self.setdefault(number, []).append(value)

    def integer(self, number):
        return (integers(self.get(number, [])) or [0])[-1]

    def messages(self, number):
        return [Message(value) for value in self.get(number, [])]


class Profile:
    """types: (name, unit); samples: dicts of stack (outermost last, each place a dict), values by type name, labels
    (a list of values by key)."""

    def __init__(self, path):
        with gzip.open(path) as file:
            message = Message(file.read())
        self.strings = [text.decode("utf-8") for text in message.get(6, [])]
        text = self.strings.__getitem__
        self.types = [(text(one.integer(1)), text(one.integer(2))) for one in message.messages(1)]
        self.default = text(message.integer(14))
        self.period = message.integer(12)
        self.duration = message.integer(10)
        self.comments = [text(number) for number in integers(message.get(13, []))]
        self.mappings = {one.integer(1): {
            "start": one.integer(2), "limit": one.integer(3), "offset": one.integer(4), "file": text(one.integer(5)),
            "build_id": text(one.integer(6))} for one in message.messages(3)}
        self.first_mapping = text(message.messages(3)[0].integer(5)) if 3 in message else None
        self.functions = {one.integer(1): {
            "name": text(one.integer(2)), "linkage": text(one.integer(3)), "file": text(one.integer(4)),
            "line": one.integer(5)} for one in message.messages(5)}
        self.locations = {one.integer(1): {
            "mapping": self.mappings.get(one.integer(2)), "address": one.integer(3) & (1 << 64) - 1,
            "lines": [dict(self.functions[line.integer(1)], at=line.integer(2)) for line in one.messages(4)]}
            for one in message.messages(4)}
        self.samples = []
        for one in message.messages(2):
            labels = {}
            for label in one.messages(3):
                labels.setdefault(text(label.integer(1)), []).append(text(label.integer(2)))
            values = integers(one.get(2, []))
            assert len(values) == len(self.types), "a sample without a value for each type"
            self.samples.append({"stack": [self.locations[number] for number in integers(one.get(1, []))],
                                 "values": dict(zip((name for name, _ in self.types), values)), "labels": labels})

    def sum(self, name):
        return sum(sample["values"][name] for sample in self.samples)


def pprof():
    """The path of the real pprof, built once and kept in the cache; None and why there is none."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pesa")
    path = os.path.join(cache, "pprof")
    if os.access(path, os.X_OK):
        return path, ""
    if not shutil.which("go"):
        return None, needs("golang-go")
    if not os.path.isdir("/usr/share/gocode/src/github.com/google/pprof"):
        return None, needs("golang-github-google-pprof-dev")
    os.makedirs(cache, exist_ok=True)
    made = subprocess.run(["go", "build", "-o", f"{path}.{os.getpid()}", "github.com/google/pprof"], cwd=cache,
                          env=dict(os.environ, GOPATH="/usr/share/gocode", GO111MODULE="off", GOFLAGS=""),
                          capture_output=True, text=True)
    if made.returncode:
        return None, "pprof cannot be built: " + made.stderr[:300].replace("\n", " ")
    os.rename(f"{path}.{os.getpid()}", path)
    return path, ""
