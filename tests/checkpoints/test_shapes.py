"""AG403: other shapes, state for another parameter, another optimizer's state."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from .programs import adam, network, one_step, only, raises, repaired, saved, sound


def square():
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))


def test_another_width():
    """The model's tensors and their state: one cause, one finding, one fix."""
    net = network(8)
    optimizer = adam(net)
    checkpoint = saved()
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG403", "error")
    assert "[6, 4]" in finding.message
    assert "[8, 4]" in finding.message
    repaired(finding, checkpoint, net, optimizer)
    assert raises(checkpoint, network(8), optimizer)


def test_a_larger_vocabulary():
    """Rows were added: the fix keeps those that both have."""
    small, large = nn.Embedding(5, 3), nn.Embedding(7, 3)
    checkpoint = {"model": small.state_dict()}
    added = large.weight[5:].clone()
    finding = only(checkpoint, large)
    assert "rows" in finding.fix
    names = {"torch": torch, "checkpoint": checkpoint, "large": large}
    exec(finding.fix, names)
    assert torch.equal(large.weight[:5], small.weight)
    assert torch.equal(large.weight[5:], added)


def test_state_of_another_width_alone():
    """An optimizer's state_dict of a narrower run: load_state_dict checks nothing, the step raises."""
    net = network(8)
    optimizer = adam(net)
    checkpoint = {"optimizer": saved()["optimizer"]}
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG403", "error")
    assert "0.weight" in finding.subjects
    names = repaired(finding, checkpoint, net, optimizer)
    assert len(names["saved"]["state"]) == 1


def test_another_order_by_shapes():
    """State would go to other parameters: whose it is, is said with names."""
    net = network()
    optimizer = torch.optim.Adam([*net[2].parameters(), *net[0].parameters()])
    checkpoint = saved()
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG403", "error")
    assert re.search(r"\b2\.weight .* state of 0\.weight", finding.message)
    assert raises(checkpoint, net, torch.optim.Adam([*net[2].parameters(), *net[0].parameters()]))
    names = repaired(finding, checkpoint, net, optimizer)
    assert names["optimizer"].state[net[0].weight]["exp_avg"].shape == (6, 4)


def test_another_order_that_nothing_shows_but_names():
    """Equal shapes: only the names in the groups prove the swap; nothing would raise."""
    net = square()
    first = torch.optim.Adam(net.named_parameters())
    checkpoint = saved(net, first)
    order = [*list(net.named_parameters())[2:], *list(net.named_parameters())[:2]]
    optimizer = torch.optim.Adam(order)
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG403", "warning")
    assert "names" in finding.message
    assert "0.weight" in finding.subjects
    assert not raises(checkpoint, net, torch.optim.Adam(order))
    names = repaired(finding, checkpoint, net, optimizer)
    held = [p for group in names["optimizer"].param_groups for p in group["params"]]
    assert held[0] is net[0].weight
    sound(checkpoint, net, torch.optim.Adam(net.named_parameters()))


def test_names_of_a_wrapped_run():
    """Names saved under DistributedDataParallel prove the same order."""
    net = square()
    checkpoint = saved(net, torch.optim.Adam([(f"module.{n}", p) for n, p in net.named_parameters()]))
    sound(checkpoint, net, torch.optim.Adam(net.named_parameters()))
    sound(checkpoint, net, adam(net))


def test_names_as_keys():
    """A state_dict keyed by names, as torch.distributed.checkpoint makes it, proves its order too."""
    net = square()
    checkpoint = saved(net)
    names = [name for name, _ in net.named_parameters()]
    own = checkpoint["optimizer"]
    own["state"] = {names[key]: value for key, value in own["state"].items()}
    own["param_groups"][0]["params"] = names
    sound(checkpoint, net, adam(net))
    turned = torch.optim.Adam([*net[2].parameters(), *net[0].parameters()])
    assert only(checkpoint, net, turned).severity == "warning"


@pytest.mark.parametrize(
    ("make", "take", "told"),
    [
        (lambda n: torch.optim.SGD(n.parameters(), lr=0.1, momentum=0.9), adam, "momentum_buffer"),
        (lambda n: torch.optim.SGD(n.parameters(), lr=0.1), adam, "betas"),
        (adam, lambda n: torch.optim.SGD(n.parameters(), lr=0.1, momentum=0.9), "momentum"),
        (adam, lambda n: torch.optim.RMSprop(n.parameters()), "exp_avg"),
    ],
)
def test_another_kind_of_optimizer(make, take, told):
    """Its state and settings are not this one's: load or step raises, as foretold."""
    net = network()
    checkpoint = saved(net, make(net))
    optimizer = take(net)
    finding = only(checkpoint, net, optimizer)
    assert (finding.rule, finding.severity) == ("AG403", "error")
    assert told in finding.message
    assert raises(checkpoint, net, take(net))
    repaired(finding, checkpoint, net, optimizer)


def test_adam_and_adamw_share_their_state():
    """AdamW continues an Adam run: no error; that its settings change is told."""
    net = network()
    checkpoint = saved()
    found = only(checkpoint, net, torch.optim.AdamW(net.parameters()))
    assert found.severity == "info"
    assert not raises(checkpoint, net, torch.optim.AdamW(net.parameters()))


def test_a_run_that_never_stepped():
    """No state was saved: nothing to match, nothing wrong."""
    net = network()
    checkpoint = {"model": net.state_dict(), "optimizer": adam(net).state_dict()}
    sound(checkpoint, net, adam(net))


KINDS = [
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "Adadelta",
    "RMSprop",
    "NAdam",
    "RAdam",
    "Adamax",
    "Rprop",
    "ASGD",
    "Adafactor",
    "LBFGS",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_optimizer_resumes_soundly(kind):
    """torch's own optimizers, saved and resumed in the same way, give no finding."""
    net = network()
    make = getattr(torch.optim, kind)
    optimizer = make(net.parameters(), lr=0.01)
    if kind == "LBFGS":

        def closure():
            optimizer.zero_grad()
            loss = net(torch.ones(3, 4)).pow(2).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
    else:
        one_step(net, optimizer)
    checkpoint = {"model": net.state_dict(), "optimizer": optimizer.state_dict()}
    sound(checkpoint, net, make(net.parameters(), lr=0.01))
