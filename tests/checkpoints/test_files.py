"""Files that are no checkpoint, cut short, or hostile: one line each, and nothing of them is run."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pickle
import random
import warnings
import zipfile

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from autograd_inspector import CheckpointError, inspect_checkpoint

from .programs import network, saved

TOUCHED = "touched"


class Hostile:
    """Touches a file when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {TOUCHED}",)


def refused(path):
    """The one line that a file is refused with."""
    with pytest.raises(CheckpointError) as caught:
        inspect_checkpoint(path)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_error_is_a_value_error():
    """Who catches ValueError catches it."""
    assert issubclass(CheckpointError, ValueError)


def test_a_missing_file(tmp_path):
    """The path that was looked for is named."""
    assert "no such file" in refused(tmp_path / "none.pt")


def test_a_folder_without_a_checkpoint(tmp_path):
    """It says what a folder must have, and which of its files could be meant."""
    (tmp_path / "epoch1.pt").write_bytes(b"x")
    assert "epoch1.pt" in refused(tmp_path)


def test_a_distributed_checkpoint(tmp_path):
    """A folder of torch.distributed.checkpoint is named as such; its pickled metadata is not opened."""
    (tmp_path / ".metadata").write_bytes(pickle.dumps(Hostile()))
    assert "torch.distributed.checkpoint" in refused(tmp_path)
    assert not (tmp_path / TOUCHED).exists()


def test_an_empty_file(tmp_path):
    """A save that did not finish."""
    (tmp_path / "a.pt").write_bytes(b"")
    assert "empty" in refused(tmp_path / "a.pt")


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("zipped", [True, False])
def test_a_truncated_file(tmp_path, keep, zipped):
    """Cut anywhere it is called cut short; what torch would say is no part of it."""
    path = tmp_path / "a.pt"
    torch.save(saved(), path, _use_new_zipfile_serialization=zipped)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    assert "cut short" in refused(path)


@pytest.mark.parametrize("head", [b"", b"PK\x03\x04", b"\x80\x02", b"\x80\x05", b"(", b"\x00" * 8, b"\xff" * 8 + b"{"])
def test_random_bytes(tmp_path, head):
    """Noise is refused, whatever it begins with."""
    noise = bytes((i * 37 + i * i * 11) % 256 for i in range(5000))
    (tmp_path / "a.pt").write_bytes(head + noise)
    refused(tmp_path / "a.pt")
    (tmp_path / "a.safetensors").write_bytes(head + noise)
    refused(tmp_path / "a.safetensors")


def test_a_zip_of_something_else(tmp_path):
    """An archive that torch.save did not write."""
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("notes.txt", "hello")
    assert "torch.save did not write" in refused(tmp_path / "a.pt")


def test_a_compressed_zip(tmp_path):
    """Data that would have to be unpacked cannot be mapped, and may be a bomb."""
    torch.save(saved(), tmp_path / "a.pt")
    with (
        zipfile.ZipFile(tmp_path / "a.pt") as old,
        zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert "compressed" in refused(tmp_path / "b.pt")


def test_a_torchscript_program(tmp_path):
    """A program is not loaded to look at its weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(network(), torch.ones(1, 4)), tmp_path / "a.pt")
    assert "TorchScript" in refused(tmp_path / "a.pt")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html>404</html>", "download failed"),
        (b"GGUF\x03\x00\x00\x00", "GGUF"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
    ],
)
def test_what_is_often_found_instead(tmp_path, content, told):
    """A Git LFS pointer, a web page, another library's format: told as what it is."""
    (tmp_path / "a.pt").write_bytes(content)
    assert told in refused(tmp_path / "a.pt")
    (tmp_path / "a.safetensors").write_bytes(content)
    assert told in refused(tmp_path / "a.safetensors")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_hostile_checkpoint_is_never_run(tmp_path, zipped):
    """The global that it wants is named, refused, and not called."""
    torch.save(
        {"model": network().state_dict(), "x": Hostile()}, tmp_path / "a.pt", _use_new_zipfile_serialization=zipped
    )
    told = refused(tmp_path / "a.pt")
    assert "system" in told
    assert "refused, nothing was run" in told
    assert not (tmp_path / TOUCHED).exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_a_hostile_plain_pickle_is_never_run(tmp_path, protocol):
    """A bare pickle is read opcode by opcode, whatever its protocol."""
    (tmp_path / "a.pt").write_bytes(pickle.dumps({"x": Hostile()}, protocol))
    told = refused(tmp_path / "a.pt")
    assert "pickle" in told or "neither" in told
    assert protocol < 2 or "system" in told
    assert not (tmp_path / TOUCHED).exists()


def test_the_environment_cannot_open_the_door(tmp_path, monkeypatch):
    """TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD does not make it run what a file asks for."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    torch.save({"x": Hostile()}, tmp_path / "a.pt")
    refused(tmp_path / "a.pt")
    assert not (tmp_path / TOUCHED).exists()


def test_objects_of_the_program(tmp_path):
    """Arguments saved as a Namespace: how to allow them, or to do without."""
    torch.save({"model": network().state_dict(), "args": argparse.Namespace(lr=1)}, tmp_path / "a.pt")
    assert "add_safe_globals([argparse.Namespace])" in refused(tmp_path / "a.pt")


def test_a_whole_model(tmp_path):
    """torch.save(model): save its state_dict instead."""
    torch.save(network(), tmp_path / "a.pt")
    assert "save model.state_dict() instead" in refused(tmp_path / "a.pt")


def test_a_plain_pickle(tmp_path):
    """pickle.dump of numbers is no checkpoint."""
    (tmp_path / "a.pt").write_bytes(pickle.dumps({"a": 1}))
    assert "torch.save did not write" in refused(tmp_path / "a.pt")


def tensor(dtype, shape):
    return json.dumps({"a": {"dtype": dtype, "shape": shape, "data_offsets": [0, 16]}}).encode()


def header(text, length=None):
    return (len(text) if length is None else length).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        b"\x01",
        header(b"{garbage"),
        header(b"{}" + b" " * 10, 10**15),
        header(b"[1, 2]"),
        header(json.dumps({"a": {"dtype": "F32", "shape": [1 << 40, 4], "data_offsets": [0, 16]}}).encode())
        + b"\0" * 16,
        header(json.dumps({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()) + b"\0" * 3,
        header(json.dumps({"a": {"dtype": "X9", "shape": [4], "data_offsets": [0, 16]}}).encode()) + b"\0" * 16,
    ],
    ids=["short", "json", "huge", "list", "shape", "data", "dtype"],
)
def test_a_corrupt_safetensors_file(tmp_path, content):
    """Header too short, no JSON, a length beyond the file, tensors beyond the data: one line."""
    (tmp_path / "a.safetensors").write_bytes(content)
    assert "safetensors" in refused(tmp_path / "a.safetensors")


def test_safetensors_not_installed(tmp_path, monkeypatch):
    """What to install, in one line."""
    save_file({"a": torch.ones(2)}, tmp_path / "a.safetensors")
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    assert "pip install safetensors" in refused(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ("{", "not an index"),
        ("[]", "not an index"),
        ('{"weight_map": {"a": "../../etc/passwd"}}', "outside its folder"),
        ('{"weight_map": {"a": "model-1.safetensors"}}', "lacks the shards model-1.safetensors"),
        ('{"weight_map": {}}', "no tensors"),
        ('{"weight_map": {"b": "here.safetensors"}}', "but it does not"),
    ],
)
def test_a_broken_index(tmp_path, index, told):
    """An index that is none, that leads out of its folder, or that promises what is not there."""
    save_file({"a": torch.ones(2)}, tmp_path / "here.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert told in refused(tmp_path)


@pytest.mark.parametrize("content", [{"epoch": 3}, {}, [1, 2], {"state": 1, "param_groups": 2}, torch.ones(3)])
def test_a_checkpoint_of_something_else(tmp_path, content):
    """No state_dict in it: what it has, and what to save."""
    torch.save(content, tmp_path / "a.pt")
    assert "state_dict" in refused(tmp_path / "a.pt")


def test_param_groups_without_positions():
    """Something that only looks like an optimizer's state_dict."""
    with pytest.raises(CheckpointError, match="param_groups"):
        inspect_checkpoint({"state": {}, "param_groups": [{"lr": 1}]})
    with pytest.raises(CheckpointError, match="param_groups"):
        inspect_checkpoint({"state": {}, "param_groups": ["x"]})


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ((3,), ("as checkpoint", "got int")),
        ((io.BytesIO(),), ("as checkpoint", "got BytesIO")),
        ((nn.Linear(1, 1),), ("as checkpoint", "got Linear", "state_dict()")),
        (({}, "net"), ("a torch.nn.Module as model", "got str")),
        (({}, None, "adam"), ("a torch.optim.Optimizer as optimizer", "got str")),
    ],
)
def test_wrong_kind_of_argument(arguments, facts):
    """What was expected and what was given, in one line."""
    with pytest.raises(TypeError) as caught:
        inspect_checkpoint(*arguments)
    text = str(caught.value)
    assert text.startswith("inspect_checkpoint: ")
    assert "\n" not in text
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize("kind", ["zip", "legacy", "safetensors"])
def test_flipped_bytes(tmp_path, kind):
    """A damaged file is read or refused in one line; nothing else comes out of it."""
    path = tmp_path / ("a.safetensors" if kind == "safetensors" else "a.pt")
    if kind == "safetensors":
        save_file(network().state_dict(), path)
    else:
        torch.save(saved(), path, _use_new_zipfile_serialization=kind == "zip")
    sound = path.read_bytes()
    chance = random.Random(kind)
    for _ in range(300):
        damaged = bytearray(sound)
        for _ in range(chance.choice([1, 2, 5, 30])):
            damaged[chance.randrange(min(len(damaged), chance.choice([200, 2000, 10**6])))] = chance.randrange(256)
        path.write_bytes(damaged)
        with contextlib.suppress(CheckpointError):
            inspect_checkpoint(path)
