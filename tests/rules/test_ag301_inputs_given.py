"""AG301: backward() is given `inputs`, and leaves out parameters of the optimizer."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def test_inputs_leave_parameters_out():
    """They are in the graph of the loss: the call of backward() is to blame, not their use."""

    def program():
        net, optimizer = made()
        for _ in range(2):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward(inputs=list(net[0].parameters()))  # Others only.
            optimizer.step()

    finding = diagnosed(program, "AG301", "Others only.", "`inputs`", "net.1.weight", severity="warning")
    assert "net.0.weight" not in finding.subjects


def in_turns():
    net, optimizer = made()
    for _ in range(2):
        optimizer.zero_grad()
        loss = net(X).pow(2).mean()
        loss.backward(inputs=list(net[0].parameters()), retain_graph=True)
        loss.backward(inputs=list(net[1].parameters()))
        optimizer.step()


def test_inputs_of_several_calls():
    """Each parameter is among those of one call."""
    calm(in_turns)
