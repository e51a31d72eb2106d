"""Small files that ask for much: pickles written opcode by opcode."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from autograd_inspector.capture.checkpoint_files.files import LEGACY

PROTO, STOP = b"\x80\x02", b"."
STORAGE = b"ctorch\nFloatStorage\n"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
HOOKS = b"ccollections\nOrderedDict\n)R"


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def numbers(*values: int) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def called(module: str, name: str, *args: bytes) -> bytes:
    return f"c{module}\n{name}\n".encode() + b"(" + b"".join(args) + b"tR"


def storage(numel: int, key: str = "0") -> bytes:
    return b"(" + text("storage") + STORAGE + text(key) + text("cpu") + number(numel) + b"tQ"


def tensor(numel: int, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> bytes:
    return (
        REBUILD + b"(" + storage(numel) + number(offset) + numbers(*size) + numbers(*stride) + b"\x89" + HOOKS + b"tR"
    )


def a_dict(*pairs: tuple[bytes, bytes]) -> bytes:
    return b"}(" + b"".join(key + value for key, value in pairs) + b"u"


def holding(value: bytes) -> bytes:
    """A checkpoint with a sound weight, and that beside it."""
    return PROTO + a_dict((text("weight"), tensor(4, (2, 2), (2, 1))), (text("other"), value)) + STOP


def grown(step: bytes, times: int) -> bytes:
    """A value that each step makes twice as large: it is remembered, and taken twice."""
    return b"".join(b"q\x00" + step for _ in range(times))


PICKLES: dict[str, bytes] = {
    "bytearray": holding(called("builtins", "bytearray", number(8_000_000_000))),
    "bytearray of Python 2": holding(called("__builtin__", "bytearray", number(8_000_000_000))),
    "bytearray made anew": holding(b"cbuiltins\nbytearray\n(" + number(8_000_000_000) + b"t\x81"),
    "bytearray in a subclass": holding(
        called("torch._tensor", "_rebuild_from_type_v2", b"cbuiltins\nbytearray\n", b"ctorch\nTensor\n",
               b"(" + number(8_000_000_000) + b"t", b"}")
    ),
    "a tensor by its size": holding(called("torch", "FloatTensor", number(2_000_000_000))),
    "a storage by its size": holding(called("torch.storage", "UntypedStorage", number(8_000_000_000))),
    "a storage beyond the file": PROTO + a_dict((text("weight"), tensor(2_000_000_000, (2,), (1,)))) + STOP,
    "a storage of negative size": PROTO + a_dict((text("weight"), tensor(-5, (2,), (1,)))) + STOP,
    "a tensor beyond its storage": PROTO + a_dict((text("weight"), tensor(4, (2_000_000_000,), (1,)))) + STOP,
    "strides beyond the storage": PROTO + a_dict((text("weight"), tensor(4, (2, 2), (10**12, 1)))) + STOP,
    "an offset beyond the storage": PROTO + a_dict((text("weight"), tensor(4, (2,), (1,), 10**12))) + STOP,
    "negative strides": PROTO + a_dict((text("weight"), tensor(4, (2, 2), (-2, 1)))) + STOP,
    "more elements than there are numbers": PROTO + a_dict((text("w"), tensor(4, (2**40, 2**40), (0, 0)))) + STOP,
    "a copy of an expanded tensor": holding(
        called("torch._utils", "_rebuild_device_tensor_from_cpu_tensor", tensor(4, (2_000_000_000,), (0,)),
               b"ctorch\nfloat64\n", text("cpu"), b"\x89")
    ),
    "a quantized tensor": holding(
        called("torch._utils", "_rebuild_qtensor", storage(4), number(0), numbers(2_000_000_000), numbers(1),
               b"(ctorch\nper_tensor_affine\n" + b"G" + struct.pack(">d", 1.0) + number(0) + b"t", b"\x89", HOOKS)
    ),
    "codecs": holding(
        called("_codecs", "encode", text("x" * 64), text("latin1"))
        + grown(b"c_codecs\nencode\n(h\x00" + text("hex") + b"tR", 34)
    ),
    "nested tuples that share": holding(b")" + grown(b"h\x00\x86", 40)),
    "a key of nested tuples": PROTO + b"}(" + b")" + grown(b"h\x00\x86", 40) + b"Nu" + STOP,
    "nested lists that share": holding(b"]" + grown(b"](h\x00h\x00e", 40)),
    "dicts of dicts that share": holding(b"}" + grown(a_dict(*((text(f"{n}"), b"h\x00") for n in range(99))), 4)),
    "deep tuples": PROTO + b")" + b"\x85" * 200_000 + STOP,
    "deep lists": PROTO + b"]" + grown(b"](h\x00e", 5000) + STOP,
    "a deep key": PROTO + b"}" + b")" + b"\x85" * 100_000 + b"Ns" + STOP,
    "very many dicts": PROTO + b"(" + b"}" * 20_000_000 + b"t" + STOP,
    "one set again and again": PROTO + b"(" + b"".join(number(n) for n in range(20_000)) + b"tq\x00"
        + b"(cbuiltins\nset\nq\x01h\x00\x85q\x02R" + b"h\x01h\x02R" * 20_000 + b"t" + STOP,
    "a text longer than the file": PROTO + b"X\xff\xff\xff\xff" + b"x" * 10,
    "no end": PROTO + a_dict((text("weight"), tensor(4, (2, 2), (2, 1)))),
    "an empty stack": PROTO + b"tR." ,
    "nothing": b"",
}  # fmt: skip


def zipped(path: Path, data: bytes, **changes: int) -> None:
    """As torch.save writes it: its folder, the pickle, one storage of four floats."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/byteorder", "little")
        archive.writestr("a/data/0", bytes(16))
        archive.writestr("a/version", "3\n")
        for name, value in changes.items():
            setattr(archive.infolist()[0], name, value)


def legacy(path: Path, data: bytes) -> None:
    """As torch.save wrote it before 1.6."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    # A persistent id has one more field there.
    data = data.replace(b"tQ", b"NtQ")
    parts = [LEGACY, pickle.dumps(1001, 2), pickle.dumps(system, 2), data, pickle.dumps(["0"], 2)]
    path.write_bytes(b"".join(parts) + struct.pack("<q", 4) + bytes(16))


def _sound() -> bytes:
    buffer = io.BytesIO()
    torch.save({"weight": torch.ones(2, 2)}, buffer)
    return buffer.getvalue()


def _two_folders(path: Path) -> None:
    """The pickle that a reader of zips finds is not the one that torch's finds."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/DATA.pkl", PICKLES["bytearray"])
        archive.writestr("a/data.pkl", holding(b"N"))
        archive.writestr("a/data/0", bytes(16))


def _shifted(path: Path) -> None:
    """A zip before the zip, where its own numbers lead."""
    zipped(path, PICKLES["bytearray"])
    before = path.read_bytes()
    zipped(path, holding(b"N"))
    path.write_bytes(before + path.read_bytes())


def _index(folder: Path, shards: dict[str, str], name: str = "pytorch_model.bin.index.json") -> Path:
    (folder / name).write_text(json.dumps({"metadata": {}, "weight_map": shards}))
    return folder / name


def _circle(folder: Path) -> Path:
    _index(folder, {"a": "pytorch_model.bin.index.json"}, "two.index.json")
    return _index(folder, {"a": "two.index.json"})


def _optimizer_shard(folder: Path) -> Path:
    torch.save(torch.optim.SGD([torch.ones(1)], lr=0.1).state_dict(), folder / "one.bin")
    return _index(folder, {"a": "one.bin"})


def _written(name: str, data: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return write


def _made(name: str, make: Callable[[Path], None]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        make(folder / name)
        return folder / name

    return write


HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 4]}}).encode()
FILES: dict[str, Callable[[Path], Path]] = {
    **{f"zip: {name}": _made("a.pt", lambda path, data=data: zipped(path, data)) for name, data in PICKLES.items()},
    **{f"legacy: {name}": _made("a.pt", lambda path, data=data: legacy(path, data)) for name, data in PICKLES.items()},
    "zip: the pickle is said to be larger": _made(
        "a.pt", lambda path: zipped(path, holding(b"N"), file_size=8_000_000_000, compress_size=8_000_000_000)
    ),
    "zip: the pickle is said to be shrunk": _made(
        "a.pt", lambda path: zipped(path, holding(b"N"), file_size=8_000_000_000)
    ),
    "zip: names that differ in case": _made("a.pt", _two_folders),
    "zip: another before it": _made("a.pt", _shifted),
    "zip: a comment": _made("a.pt", lambda path: path.write_bytes(_sound()[:-2] + b"\x04\x00PK\x05\x06")),
    "zip: cut short": _made("a.pt", lambda path: path.write_bytes(_sound()[:-40])),
    "zip: its end alone": _made("a.pt", lambda path: path.write_bytes(b"PK\x05\x06" + bytes(18))),
    "tar": _made("a.pt", lambda path: path.write_bytes(b"sys_info".ljust(257, b"\0") + b"ustar\x0000" + bytes(800))),
    "safetensors: a header of 10**18 bytes": _written("a.safetensors", struct.pack("<Q", 10**18) + b"{}"),
    "safetensors: a header of 100 MB": _written("a.safetensors", struct.pack("<Q", 100_000_000) + b"{}"),
    "safetensors: deep": _written("a.safetensors", struct.pack("<Q", 100_000) + b'{"a":' + b"[" * 99_995),
    "safetensors: a huge tensor": _written("a.safetensors", struct.pack("<Q", len(HEADER)) + HEADER + bytes(4)),
    "index: itself": lambda folder: _index(folder, {"a": "pytorch_model.bin.index.json"}),
    "index: a circle": _circle,
    "index: outside": lambda folder: _index(folder, {"a": "../other.bin"}),
    "index: absolute": lambda folder: _index(folder, {"a": "/etc/passwd"}),
    "index: NUL": lambda folder: _index(folder, {"a": "a\0b"}),
    "index: the folder": lambda folder: _index(folder, {"a": "."}),
    "index: deep": _written("pytorch_model.bin.index.json", b'{"weight_map":' + b"[" * 300_000),
    "index: deep beside it": _written("m.index.json", b'{"x":' + b"[" * 300_000 + b"]" * 300_000 + b"}"),
    "index: names that are numbers": _written("m.index.json", b'{"weight_map":{"a":1}}'),
    "index: a shard without a model": _optimizer_shard,
}  # fmt: skip
