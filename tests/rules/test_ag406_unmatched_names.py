"""AG406: parameters that were to be frozen by their names, of which none passes the test."""

from __future__ import annotations

import torch
from torch import nn

from .programs import inspected, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def stepped(net):
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())


def model():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def test_name_that_no_parameter_has():
    """The test is pointed at; one that holds for a name freezes it."""

    def unmatched():
        net = model()
        for name, p in net.named_parameters():
            if "encoder" in name:  # test
                p.requires_grad = False
        stepped(net)

    def matched():
        net = model()
        for name, p in net.named_parameters():
            if name.startswith("0."):
                p.requires_grad_(False)
        stepped(net)

    report = inspected(unmatched)
    (finding,) = [each for each in report.findings if each.rule == "AG406"]
    assert finding.severity == "info", "the text alone says what the loop is for"
    assert finding.locations[0].lineno == line_of(unmatched, "# test")
    assert {"encoder", "0.weight"} <= {word for name in finding.subjects for word in (name, name.partition(".")[2])}
    calm(unmatched, matched)


def test_loops_of_which_it_is_not_known():
    """A list that is empty by choice, a loop in a branch that is not taken, one after which nothing ran."""

    def chosen(frozen=()):
        net = model()
        for name, p in net.named_parameters():
            if any(part in name for part in frozen):
                p.requires_grad = False
        stepped(net)

    def not_taken(finetune=False):
        net = model()
        if finetune:
            for name, p in net.named_parameters():
                if "encoder" in name:
                    p.requires_grad = False
            stepped(net)
        stepped(net)

    def freeze(net):
        for name, p in net.named_parameters():
            if "encoder" in name:
                p.requires_grad = False

    def never_called():
        net = model()
        assert callable(freeze)
        stepped(net)

    def another_froze():
        net = model()
        net[0].requires_grad_(False)
        for name, p in net.named_parameters():
            if "encoder" in name:
                p.requires_grad = False
        stepped(net)

    calm(chosen, not_taken, never_called, another_froze)
