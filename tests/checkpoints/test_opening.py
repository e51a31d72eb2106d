"""What can be opened, and that opening it changes and copies nothing."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path

import pytest
import torch
import torch.serialization
from safetensors.torch import save_file

from autograd_inspector import inspect_checkpoint

from .programs import adam, findings, network, one_step, saved, sound


def record(*given):
    return inspect_checkpoint(*given).capture.checkpoint


def shards(folder, tensors, suffix="safetensors", save=save_file):
    """Two files and their index, as transformers writes them."""
    names = list(tensors)
    parts = {f"model-{i + 1}-of-2.{suffix}": names[i::2] for i in range(2)}
    for file, held in parts.items():
        save({name: tensors[name] for name in held}, folder / file)
    weights = {name: file for file, held in parts.items() for name in held}
    index = f"{'model' if suffix == 'safetensors' else 'pytorch_model'}.{suffix}.index.json"
    (folder / index).write_text(json.dumps({"metadata": {}, "weight_map": weights}))


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_save_wrote(tmp_path, zipped):
    """The zip of today and the file of before torch 1.6 hold the same."""
    path = tmp_path / "a.pt"
    torch.save(saved(), path, _use_new_zipfile_serialization=zipped)
    found = record(path)
    assert found.format == ("torch.save" if zipped else "torch.save (legacy)")
    first = found.models[0].tensors[0]
    assert (first.name, first.shape, first.dtype, first.device) == ("0.weight", (6, 4), "float32", "cpu")
    assert [e.name for e in found.optimizers[0].parameters[0].state] == ["step", "exp_avg", "exp_avg_sq"]
    assert found.optimizers[0].groups[0].settings["lr"] == "0.001"
    assert found.others == ("epoch",)
    assert found.nbytes == path.stat().st_size
    net = network()
    sound(path, net, adam(net))
    sound(str(path), net, adam(net))


def test_a_checkpoint_is_mapped_and_not_read(tmp_path, monkeypatch):
    """torch.load is called once, with weights_only and mmap; no tensor is copied."""
    torch.save(saved(), tmp_path / "a.pt")
    calls, load = [], torch.load

    def watched(*args, **kwargs):
        calls.append(kwargs)
        return load(*args, **kwargs)

    monkeypatch.setattr(torch, "load", watched)
    monkeypatch.setattr(torch.Tensor, "clone", None)
    monkeypatch.setattr(torch.Tensor, "to", None)
    monkeypatch.setattr(torch.Tensor, "cpu", None)
    inspect_checkpoint(tmp_path / "a.pt")
    assert len(calls) == 1
    assert calls[0]["weights_only"] is True
    assert calls[0]["mmap"] is True


def test_a_refused_file_is_not_tried_again(tmp_path, monkeypatch):
    """There is no second try with weights_only=False."""
    torch.save({"model": network()}, tmp_path / "a.pt")
    calls, load = [], torch.load
    monkeypatch.setattr(torch, "load", lambda *a, **k: (calls.append(k), load(*a, **k))[1])
    with pytest.raises(ValueError, match="refused"):
        inspect_checkpoint(tmp_path / "a.pt")
    assert [call["weights_only"] for call in calls] == [True]


def test_safetensors(tmp_path):
    """Names, shapes and dtypes of the header, without a tensor."""
    net = network().bfloat16()
    save_file(net.state_dict(), tmp_path / "a.safetensors")
    found = record(tmp_path / "a.safetensors")
    assert found.format == "safetensors"
    assert {t.name: (t.shape, t.dtype, t.nbytes) for t in found.models[0].tensors}["2.bias"] == ((2,), "bfloat16", 4)
    sound(tmp_path / "a.safetensors", net)


def test_safetensors_by_its_content(tmp_path):
    """A file without the suffix is known by how it begins."""
    save_file(network().state_dict(), tmp_path / "weights")
    assert record(tmp_path / "weights").format == "safetensors"


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_a_folder_of_shards(tmp_path, suffix):
    """All shards of the index together are the model; the index itself may be named too."""
    net = network()
    shards(tmp_path, net.state_dict(), suffix, save_file if suffix == "safetensors" else torch.save)
    assert record(tmp_path).format.startswith("sharded")
    sound(tmp_path, net)
    sound(next(tmp_path.glob("*.index.json")), net)


def test_a_folder_with_one_file(tmp_path):
    """model.safetensors of a folder that save_pretrained wrote."""
    save_file(network().state_dict(), tmp_path / "model.safetensors")
    sound(tmp_path, network())


def test_the_device_that_it_was_saved_from(tmp_path, monkeypatch):
    """The location that torch.save noted is told, though nothing is put there."""
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda storage: "cuda:3")
        torch.save(saved(), tmp_path / "a.pt")
    found = record(tmp_path / "a.pt")
    assert {t.device for t in found.models[0].tensors} == {"cuda:3"}
    assert found.absent == ("cuda:3",)


def test_model_and_optimizer_are_not_touched():
    """Parameters, versions, state, groups and random numbers are as before; the checkpoint's dict is too."""
    net = network()
    optimizer = adam(net)
    one_step(net, optimizer)
    checkpoint = saved()
    kept = copy.deepcopy(checkpoint)
    before = [(p.clone(), p._version, p.grad.clone()) for p in net.parameters()]
    state = copy.deepcopy(optimizer.state_dict())
    torch.manual_seed(1)
    random = torch.get_rng_state()
    inspect_checkpoint(checkpoint, net, optimizer)
    assert torch.equal(torch.get_rng_state(), random)
    for p, (value, version, gradient) in zip(net.parameters(), before, strict=True):
        assert torch.equal(p, value)
        assert p._version == version
        assert torch.equal(p.grad, gradient)
    for now, then in ((optimizer.state_dict(), state), (checkpoint["optimizer"], kept["optimizer"])):
        assert now["param_groups"] == then["param_groups"]
        assert all(torch.equal(now["state"][i]["exp_avg"], then["state"][i]["exp_avg"]) for i in range(4))
    assert list(checkpoint) == list(kept)


def test_hooks_of_the_program_are_not_run():
    """state_dict and load hooks stay asleep: no state_dict is made and none loaded."""
    net = network()
    called = []
    net.register_state_dict_pre_hook(lambda *a: called.append(1))
    net.register_load_state_dict_pre_hook(lambda *a: called.append(2))
    findings(saved(), net, adam(net))
    assert called == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_file_is_not_held(tmp_path):
    """When the report is there the file is closed, and may be removed."""
    torch.save(saved(), tmp_path / "a.pt")
    report = inspect_checkpoint(tmp_path / "a.pt")
    assert tmp_path / "a.pt" not in [entry.resolve() for entry in Path("/proc/self/fd").iterdir()]
    assert str(tmp_path / "a.pt") not in Path("/proc/self/maps").read_text()
    assert report.capture.checkpoint.models
