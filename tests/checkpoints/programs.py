"""Small models, checkpoints of them, and what really happens when one is loaded."""

from __future__ import annotations

import copy

import torch
from torch import nn

from autograd_inspector import inspect_checkpoint


def network(width=6):
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))


def adam(net, **settings):
    return torch.optim.Adam(net.parameters(), **settings)


def one_step(net, optimizer):
    optimizer.zero_grad()
    weight = next(net.parameters())
    net(torch.ones(3, 4, dtype=weight.dtype)).pow(2).sum().backward()
    optimizer.step()


def saved(net=None, optimizer=None):
    """{"model", "optimizer", "epoch"} of a run after one step."""
    net = network() if net is None else net
    optimizer = adam(net) if optimizer is None else optimizer
    one_step(net, optimizer)
    return copy.deepcopy({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})


def findings(checkpoint, model=None, optimizer=None):
    return inspect_checkpoint(checkpoint, model, optimizer).findings


def only(checkpoint, model=None, optimizer=None):
    """The one finding that there is."""
    reported = findings(checkpoint, model, optimizer)
    assert len(reported) == 1, [f"{f.severity} {f.rule} {f.message}" for f in reported]
    assert reported[0].subjects
    assert reported[0].fix.startswith("# ")
    return reported[0]


def sound(checkpoint, model=None, optimizer=None):
    """No finding at all."""
    reported = findings(checkpoint, model, optimizer)
    assert not reported, [f"{f.severity} {f.rule} {f.message}" for f in reported]


def repaired(finding, checkpoint, model, optimizer):
    """Run the fix as it stands, and a step after it; returns the names that it leaves."""
    # A fix has the variable that the test has the model in.
    names = {"torch": torch, "checkpoint": checkpoint, "optimizer": optimizer}
    names |= dict.fromkeys(("model", "net", "large", "outer"), model)
    exec(finding.fix, names)
    if names["optimizer"] is not None:
        one_step(names["model"], names["optimizer"])
    return names


def raises(checkpoint, model, optimizer):
    """Whether loading both, or the step after it, raises."""
    loaded = copy.deepcopy(checkpoint)
    try:
        model.load_state_dict(loaded["model"])
        optimizer.load_state_dict(loaded["optimizer"])
        one_step(model, optimizer)
    except Exception:
        return True
    return False
