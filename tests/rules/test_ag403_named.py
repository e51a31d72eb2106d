"""AG403: state that went to another parameter, as the names in the groups of both optimizers tell."""

from __future__ import annotations

import copy
import io
import re

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Attention(nn.Module):
    def __init__(self, *names):
        super().__init__()
        for name in names:
            setattr(self, name, nn.Linear(4, 4, bias=False))

    def forward(self, x):
        return self.query(x) * torch.tanh(self.key(x))


def one_step(net, optimizer):
    trained(optimizer, net(X).pow(2).mean())


def written(*names, kind=torch.optim.Adam, **settings):
    """A trained model, its optimizer, and the checkpoint as a file would give it back."""
    net = Attention(*names)
    optimizer = kind(net.named_parameters(), lr=0.1, **settings)
    one_step(net, optimizer)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return net, optimizer, torch.load(file)


def resumed(*names, kind=torch.optim.Adam, **settings):
    net = Attention(*names)
    return net, kind(net.named_parameters(), lr=0.1, **settings)


def test_other_order_of_names():
    """Equal shapes in another order: which parameter got whose state is told, and what that state is."""

    def program():
        _, _, checkpoint = written("query", "key")
        net, optimizer = resumed("key", "query")
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    finding = diagnosed(
        program, "AG403", "optimizer.load_state_dict", "param_names", "query.weight", "key.weight", severity="warning"
    )
    assert "exp_avg, exp_avg_sq of " in finding.message
    assert "momentum" not in finding.message


def test_only_the_state_that_there_is_is_told():
    """SGD's momentum is called by its name, and Adam's moments are not mentioned."""

    def program():
        _, _, checkpoint = written("query", "key", kind=torch.optim.SGD, momentum=0.9)
        net, optimizer = resumed("key", "query", kind=torch.optim.SGD, momentum=0.9)
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    finding = diagnosed(program, "AG403", "optimizer.load_state_dict", "momentum_buffer", severity="warning")
    assert "exp_avg" not in finding.message


def test_the_fix_loads_each_state_where_it_belongs():
    """The statements of the fix, run in the place of the load, leave nothing to say."""
    statements = []

    def sick():
        _, _, checkpoint = written("query", "key")
        net, optimizer = resumed("key", "query")
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    def mended():
        old, first, checkpoint = written("query", "key")
        net, optimizer = resumed("key", "query")
        scope = {"checkpoint": checkpoint, "optimizer": optimizer}
        for statement in statements:
            exec(statement, scope)
        moments = optimizer.state[net.query.weight]["exp_avg"]
        assert torch.equal(moments, first.state[old.query.weight]["exp_avg"])
        one_step(net, optimizer)

    (finding,) = alarms(inspected(sick))
    statements += [s for s in re.findall(r"`([^`]*)`", finding.fix) if s.startswith(("names", "own", "optimizer"))]
    assert len(statements) == 3
    calm(mended)


def test_names_in_the_same_order():
    """The same names in the same order, or behind a wrapper's prefix, or no names at all, tell of no swap."""

    def same():
        _, _, checkpoint = written("query", "key")
        net, optimizer = resumed("query", "key")
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    def wrapped():
        _, _, checkpoint = written("query", "key")
        for group in checkpoint["param_groups"]:
            group["param_names"] = [f"module.{name}" for name in group["param_names"]]
        net, optimizer = resumed("query", "key")
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    def renamed():
        _, _, checkpoint = written("query", "key")
        for group in checkpoint["param_groups"]:
            group["param_names"] = ["old.q", "old.k"]
        net, optimizer = resumed("query", "key")
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    def unnamed():
        _, _, checkpoint = written("query", "key")
        net = Attention("query", "key")
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    calm(same, wrapped, renamed, unnamed)


def test_state_without_any_entries():
    """A checkpoint of an optimizer that never stepped gives nobody another's state."""

    def program():
        first = torch.optim.Adam(Attention("query", "key").named_parameters())
        net, optimizer = resumed("key", "query")
        optimizer.load_state_dict(copy.deepcopy(first.state_dict()))
        one_step(net, optimizer)

    calm(program)


def test_a_hook_that_loads_by_name():
    """A hook on loading may bring the state into the optimizer's order, and leave the saved names as they are."""

    def by_name(optimizer, state_dict):
        own = [name for group in optimizer.param_groups for name in group["param_names"]]
        names = [name for group in state_dict["param_groups"] for name in group["param_names"]]
        state = {i: state_dict["state"][names.index(name)] for i, name in enumerate(own)}
        return {"state": state, "param_groups": state_dict["param_groups"]}

    def program():
        _, _, checkpoint = written("query", "key")
        net, optimizer = resumed("key", "query")
        optimizer.register_load_state_dict_pre_hook(by_name)
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer)

    calm(program)


def test_state_that_is_known_to_be_right():
    """Living state that the program numbers anew is known by its parameter, whatever the names beside it say."""

    def program():
        net, first, _ = written("query", "key")
        again, optimizer = resumed("key", "query")
        saved = first.state_dict()
        optimizer.load_state_dict(
            {
                "state": dict(enumerate([saved["state"][1], saved["state"][0]])),
                "param_groups": saved["param_groups"],
            }
        )
        again.load_state_dict(net.state_dict())
        one_step(again, optimizer)

    calm(program)


def test_distributed_checkpoints_load_by_name():
    """torch.distributed.checkpoint matches by name, and leaves the saved names behind."""

    def program():
        net, first, _ = written("query", "key")
        checkpoint = copy.deepcopy(get_optimizer_state_dict(net, first))
        again, optimizer = resumed("key", "query")
        set_optimizer_state_dict(again, optimizer, checkpoint)
        one_step(again, optimizer)

    report = inspected(program)
    assert not alarms(report), summary(report)
