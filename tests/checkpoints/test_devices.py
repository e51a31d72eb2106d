"""AG401: devices that are not there, models without memory, and the right order of moving and loading."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.serialization

from .programs import adam, findings, network, one_step, only, raises, repaired, saved, sound


@pytest.fixture
def from_cuda(tmp_path, monkeypatch):
    """A checkpoint that was saved from cuda:3."""
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda storage: "cuda:3")
        torch.save(saved(), tmp_path / "a.pt")
    return tmp_path / "a.pt"


def test_a_device_that_this_machine_has_not(from_cuda):
    """torch.load alone would raise; the fix says where to, and loads."""
    net = network()
    optimizer = adam(net)
    finding = only(from_cuda, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG401", "warning")
    assert "cuda:3" in finding.message
    assert "map_location" in finding.message
    with pytest.raises(RuntimeError):
        torch.load(from_cuda, weights_only=True)
    repaired(finding, None, net, optimizer)
    assert only(from_cuda).severity == "warning"


def test_a_model_on_meta():
    """Loading copies nothing into it, in silence: assign, and make the optimizer after that."""
    with torch.device("meta"):
        net = network()
    optimizer = adam(net)
    checkpoint = saved()
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG401", "warning")
    assert "assign=True" in finding.message
    lines = finding.fix.split("\n")
    load, make = (next(i for i, line in enumerate(lines) if text in line) for text in ("assign=True)", "optimizer = "))
    assert load < make
    names = repaired(finding, checkpoint, net, optimizer)
    assert net[0].weight.device.type == "cpu"
    assert names["optimizer"].state[net[0].weight]["step"] == 2


def test_an_optimizer_made_before_the_model_moved():
    """model.to(meta) made new parameters: the optimizer holds the old ones, told as such."""
    net = network()
    optimizer = adam(net)
    net.to("meta")
    assert "AG405" in {f.rule for f in findings(saved(), net, optimizer)}


def test_a_checkpoint_saved_from_meta():
    """Tensors without data cannot be loaded."""
    net = network()
    hollow = {"model": copy.deepcopy(net).to("meta").state_dict()}
    finding = only(hollow, net)
    assert (finding.rule, finding.severity) == ("AG401", "error")
    with pytest.raises((NotImplementedError, RuntimeError)):
        net.load_state_dict(hollow["model"])


def test_capturable_from_a_cuda_graph():
    """The flag comes back with the groups, and Adam refuses it on the CPU."""
    net = network()
    checkpoint = saved()
    checkpoint["optimizer"]["param_groups"][0]["capturable"] = True
    optimizer = adam(net)
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG401", "error")
    assert raises(checkpoint, net, adam(net))
    repaired(finding, checkpoint, net, optimizer)


def test_fused_from_the_checkpoint():
    """fused=True is fine on a CPU: only told as a setting that changes."""
    net = network()
    checkpoint = saved()
    checkpoint["optimizer"]["param_groups"][0]["fused"] = True
    finding = only(checkpoint, net, adam(net))
    assert (finding.rule, finding.severity) == ("AG409", "info")
    assert not raises(checkpoint, net, adam(net))


def test_state_on_the_cpu_is_where_it_belongs():
    """Everything on one device: nothing to say, whatever the dict was loaded with."""
    net = network()
    optimizer = adam(net)
    one_step(net, optimizer)
    sound(saved(), net, optimizer)
