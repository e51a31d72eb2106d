"""What several backwards start from can have no graph, whatever else is cut off."""

from __future__ import annotations

import torch
from torch import nn

import autograd_inspector


def updates(epochs, *, retain=False):
    """A policy's old and new log-probabilities, both without a graph."""
    net, x = nn.Linear(3, 1), torch.ones(4, 3)
    bias = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([*net.parameters(), bias], lr=0.1)
    with torch.no_grad():
        old = net(x)
    for _ in range(epochs):
        ratio = net(x).detach() - old
        optimizer.zero_grad()
        (ratio.exp().mean() + bias).sum().backward(retain_graph=retain)
        optimizer.step()


def rules_of(program):
    with autograd_inspector.inspect() as inspection:
        program()
    return {finding.rule for finding in inspection.report.findings if finding.severity != "info"}


def test_the_cut_of_each_round_is_told_alone():
    """With a graph of the rollout's, the second backward would find it freed: the block is not to blame."""
    assert rules_of(lambda: updates(3)) == {"AG101"}


def test_a_single_round_tells_both():
    """Nothing tells which of the two is meant."""
    assert rules_of(lambda: updates(1)) == {"AG101", "AG102"}


def test_a_graph_that_is_kept_can_be_gone_through_again():
    """Where each backward retains its graph, the first cut may be at fault as well."""
    assert rules_of(lambda: updates(3, retain=True)) == {"AG101", "AG102"}
