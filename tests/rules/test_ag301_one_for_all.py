"""AG301: functions made in a loop call the loop's last module, and the others of its list get nothing."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def trained(heads):
    """Two steps of a module over a list of others."""
    optimizer = torch.optim.SGD(heads.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        heads(torch.ones(5, 4)).pow(2).mean().backward()
        optimizer.step()


class Heads(nn.Module):
    """Calls what was made for each of its layers."""

    def __init__(self, made):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
        self.calls = made(self.layers)

    def forward(self, x):
        return torch.cat([call(x) for call in self.calls], -1)


def test_lambdas_of_a_loop():
    """The line that calls, what is called, and how often; bound when it is made, each calls its own."""

    def late(layers):
        calls = []
        for layer in layers:
            calls.append(lambda h: layer(h))  # noqa: B023, PERF401, PLW0108 - the fault
        return calls

    def bound(layers):
        calls = []
        for layer in layers:
            calls.append(lambda h, layer=layer: layer(h))  # noqa: PERF401
        return calls

    def program():
        trained(Heads(late))

    finding = diagnosed(program, "AG301", "lambda h: layer(h)", "layers.2", "3 times", severity="warning", where=late)
    assert {"heads.layers.0.weight", "heads.layers.1.bias"} <= set(finding.subjects)
    calm(lambda: trained(Heads(bound)))


def test_member_that_is_called_directly():
    """Where no function stands in between, the modules that are never called are told as before."""

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

        def forward(self, x):
            return self.layers[1](self.layers[1](x))

    def program():
        trained(Last())

    diagnosed(program, "AG301", "SGD(", "never take part", severity="warning", where=trained)
