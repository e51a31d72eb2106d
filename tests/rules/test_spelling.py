"""What goes into code of an advice is an expression that the program could write; everything else is said in words."""

from __future__ import annotations

import re

import torch
from torch import nn

from autograd_inspector.advice.spelling import is_path, method_on

from .programs import alarms, finding_text, inspected, quoted

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def test_paths():
    """Variables, attributes and items are code; shapes, layers' paths, calls and words are not."""
    for code in ("loss", "self.queue", 'batch["logp"]', "net[2].v", "states[i].hidden", "float32"):
        assert is_path(code), code
    for words in ("float32[3, 2]", "float32[]", "int64[4]", "bool[2, 2]", "2.v", "net(x)", "the result of `add`", ""):
        assert not is_path(words), words


def test_methods():
    """A call on a name that is no Python is said in words."""
    assert method_on("hidden", "retain_grad()") == "hidden.retain_grad()"
    assert method_on("2.v", "retain_grad()") == "retain_grad() on 2.v"


def test_nameless_tensors_stay_out_of_code():
    """What no variable holds is called by its op, wherever a finding would put its name into code."""

    def carried():
        net, kept = nn.Linear(3, 3), []
        for _ in range(2):
            kept.append(net(X).tanh())
            sum(part.exp().mean() for part in kept).backward()

    def modified():
        net = nn.Linear(3, 3)
        parts = [net(X).sigmoid(), net(X).sigmoid()]
        loss = sum(part.pow(2).sum() for part in parts)
        for part in parts:
            part.zero_()
        loss.backward()

    def expanded():
        torch.zeros(1, 3).expand(4, 3).add_(X)

    def remembered():
        kept, net = [], nn.Linear(3, 3)
        for _ in range(6):
            net.zero_grad()
            out = net(X)
            out.sum().backward()
            kept.append(out.exp() * 2)
        return kept

    def asked():
        net, images = nn.Linear(3, 3), list(X.split(2))
        torch.autograd.grad(net(images[0]).sum(), images[0] * 1)

    for program in (carried, modified, expanded, remembered, asked):
        found = alarms(inspected(program))
        assert found, program.__name__
        for finding in found:
            code = quoted(f"{finding.message} {finding.fix}")
            assert not [part for part in code if re.search(r"\b(float|int|bool)\d*\[", part)], finding_text(finding)
