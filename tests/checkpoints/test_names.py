"""AG409: names that only one side has, and wrappers that rename all of them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import adam, findings, network, only, raises, repaired, saved, sound


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("module.", "DistributedDataParallel"),
        ("_orig_mod.", "torch.compile"),
        ("module._orig_mod.", "DistributedDataParallel"),
        ("model.", "`model.`"),
        ("net.backbone.", "`net.backbone.`"),
    ],
)
@pytest.mark.parametrize("whose", ["checkpoint", "model"])
def test_a_wrapper_renames_everything(prefix, told, whose):
    """One finding that names the wrapper, and a line that undoes it; not all names missing and unexpected."""
    net = network()
    checkpoint = saved()
    if whose == "checkpoint":
        checkpoint["model"] = {prefix + name: tensor for name, tensor in checkpoint["model"].items()}
    else:
        for part in reversed(prefix.strip(".").split(".")):
            outer = nn.Module()
            outer.add_module(part, net)
            outer.forward = net.forward
            net = outer
    finding = only(checkpoint, net)
    assert (finding.rule, finding.severity) == ("AG409", "error")
    assert told in finding.message
    names = repaired(finding, checkpoint, net, None)
    first = next(iter(checkpoint["model"].values()))
    assert torch.equal(next(names["model"].parameters()), first)


def test_modules_compiled_one_by_one():
    """``_orig_mod.`` in the middle of the names is undone too."""
    checkpoint = saved()
    checkpoint["model"] = {name.replace(".", "._orig_mod."): tensor for name, tensor in checkpoint["model"].items()}
    net = network()
    finding = only(checkpoint, net)
    assert "_orig_mod." in finding.message
    repaired(finding, checkpoint, net, None)


def test_a_part_of_a_larger_module():
    """A Lightning module's weights for the network inside: what else it holds is left out, not complained of."""
    checkpoint = saved()
    checkpoint["model"] = {f"model.{name}": tensor for name, tensor in checkpoint["model"].items()}
    checkpoint["model"]["loss.weight"] = torch.ones(2)
    net = network()
    repaired(only(checkpoint, net), checkpoint, net, None)


def test_a_prefix_and_a_missing_layer_are_two_causes():
    """What is missing beside the wrapper's prefix is told for itself."""
    checkpoint = saved()
    checkpoint["model"] = {f"module.{name}": tensor for name, tensor in checkpoint["model"].items()}
    net = network()
    net.append(nn.Linear(2, 2))
    found = findings(checkpoint, net)
    assert [f.rule for f in found] == ["AG409", "AG409"]
    assert found[1].subjects == ("3.weight", "3.bias")


def test_missing_and_unexpected():
    """One finding for both, with the names."""
    net = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 6), nn.Tanh())
    checkpoint = saved()
    finding = only({"model": checkpoint["model"]}, net)
    assert finding.severity == "error"
    assert "1.weight" in finding.message
    assert "2.weight" in finding.message
    repaired(finding, checkpoint, net, None)


def test_a_renamed_module():
    """As many missing as unexpected, of the same shapes: told as renamed, with the mapping."""
    net = network()
    checkpoint = saved()
    checkpoint["model"] = {name.replace("2.", "head."): t for name, t in checkpoint["model"].items()}
    finding = only(checkpoint, net)
    assert "renamed" in finding.message
    assert '"head.weight": "2.weight"' in finding.fix
    repaired(finding, checkpoint, net, None)
    assert torch.equal(net[2].weight, checkpoint["model"]["head.weight"])


def test_another_model():
    """Nothing in common: said once, with the shapes that it would need."""
    finding = only({"model": {f"block.{i}.conv": torch.ones(3, 3) for i in range(20)}}, network())
    assert "a different model" in finding.message
    assert len(finding.message) < 400


def test_another_model_with_a_name_in_common():
    """One name of another shape makes no kinship; one tensor that fits does, however few they are."""
    strangers = {f"block.{i}.conv": torch.ones(3, 3) for i in range(20)}
    finding = only({"model": strangers | {"0.weight": torch.ones(7)}}, network())
    assert "a different model" in finding.message
    large = nn.Sequential(*[nn.Linear(3, 3) for _ in range(12)])
    finding = only({"model": strangers | {"0.weight": torch.ones(3, 3)}}, large)
    assert "a different model" not in finding.message


def test_a_layer_that_came_since():
    """Missing in the model's and in the optimizer's state: one finding, whose fix repairs both."""
    net = network()
    net.append(nn.Linear(2, 2))
    checkpoint = saved()
    optimizer = adam(net)
    finding = only(checkpoint, net, optimizer)
    assert set(finding.subjects) == {"3.weight", "3.bias"}
    names = repaired(finding, checkpoint, net, optimizer)
    assert [len(group["params"]) for group in names["optimizer"].param_groups] == [4, 2]
    assert names["optimizer"].state[net[0].weight]["step"] == 2


def test_tied_weights():
    """The other name of a tied parameter is missing: strict loading raises though nothing is lost."""
    net = nn.ModuleDict({"embedding": nn.Embedding(5, 3), "head": nn.Linear(3, 5, bias=False)})
    net["head"].weight = net["embedding"].weight
    state = copy.deepcopy(net.state_dict())
    sound({"model": state}, net)
    del state["head.weight"]
    finding = only({"model": state}, net)
    assert finding.severity == "error"
    assert "tied" in finding.message
    repaired(finding, {"model": state}, net, None)


def test_buffers_extra_state_and_lazy_layers():
    """Persistent buffers count, others do not; a module's extra state is known; a lazy layer takes any shape."""

    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(2))
            self.register_buffer("scratch", torch.ones(2), persistent=False)

        def get_extra_state(self):
            return {"calls": 3}

        def set_extra_state(self, state):
            pass

    net = nn.Sequential(Counted(), nn.BatchNorm1d(2), nn.LazyLinear(3))
    full = nn.Sequential(Counted(), nn.BatchNorm1d(2), nn.Linear(2, 3))
    sound({"model": full.state_dict()}, net)
    sound({"model": full.state_dict()}, full)
    state = full.state_dict()
    del state["0.kept"]
    assert only({"model": state}, full).subjects == ("0.kept",)


def test_batch_norm_of_an_old_file():
    """Without version numbers batch norm fills its counter in, as loading does."""
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = {n: t for n, t in net.state_dict().items() if "num_batches" not in n}
    sound({"model": state}, net)
    net.load_state_dict(state)


def test_modules_that_load_in_their_own_way():
    """A load hook may take other names: info, not an error."""

    class Old(nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "kernel")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    net = nn.Sequential(nn.Linear(4, 4), Old(4, 3))
    state = {n.replace("1.weight", "1.kernel"): t for n, t in net.state_dict().items()}
    net.load_state_dict(dict(state))
    assert {f.severity for f in findings({"model": state}, net)} == {"info"}


def test_a_checkpoint_without_the_optimizer():
    """An optimizer given, none saved: it starts afresh, a warning."""
    net = network()
    finding = only({"model": saved()["model"]}, net, adam(net))
    assert (finding.rule, finding.severity) == ("AG409", "warning")


def test_a_checkpoint_without_the_model():
    """A model given, an optimizer saved: error; with an optimizer the model only gives names."""
    net = network()
    assert only(saved()["optimizer"], net).severity == "error"
    sound(saved()["optimizer"], net, adam(net))


def test_what_fits_loads():
    """The healthy one: nothing is found and nothing raises."""
    net = network()
    optimizer = adam(net)
    sound(saved(), net, optimizer)
    assert not raises(saved(), net, optimizer)
