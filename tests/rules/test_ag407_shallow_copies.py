"""AG407: models that are shallow copies of one, and are trained apart."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

DATA = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


def trained_on(client, x):
    optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        F.mse_loss(client(x), x[:, :2]).backward()
        optimizer.step()
    return client


def test_clients_of_one_server():
    """`copy.copy` of a module shares its parameters; `copy.deepcopy` does not."""

    def shallow():
        server = nn.Linear(4, 2)
        clients = []
        for x in DATA:
            client = copy.copy(server)
            client(x)
            clients.append(trained_on(client, x))
        return clients

    def deep():
        server = nn.Linear(4, 2)
        return [trained_on(copy.deepcopy(server), x) for x in DATA]

    found = diagnosed(shallow, "AG407", "client = copy.copy(server)", "weight", "shallow copies", severity="warning")
    assert "deepcopy" in found.edits[0].text
    calm(deep)


def test_another_way_to_compute():
    """One model and a copy of it with other settings may share what an optimizer trains."""

    def program():
        net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.1))
        view = copy.copy(net)
        for optimizer in (torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.Adam(net.parameters())):
            for model in (net, view):
                optimizer.zero_grad()
                F.mse_loss(model(DATA[0]), DATA[0, :, :2]).backward()
                optimizer.step()

    calm(program)


def test_twins_that_are_one_network():
    """Two critics get the same inputs: a shallow copy returns the same, whatever is done with the two results."""

    class Twins(nn.Module):
        def __init__(self, one, other):
            super().__init__()
            self.one, self.other = one, other

        def forward(self, x):
            return self.one(x), self.other(x)

    def critics(copied, call=lambda one, other, x: (one(x), other(x))):
        one = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        other = copied(one)  # twin
        optimizer = torch.optim.SGD(nn.ModuleList([one, other]).parameters(), lr=0.1)
        for _ in range(2):
            x = torch.randn(8, 4)
            a, b = call(one, other, x)
            optimizer.zero_grad()
            ((a - 1).pow(2) + (b + 1).pow(2)).mean().backward()
            optimizer.step()

    def inside(one, other, x):
        return Twins(one, other)(x)

    for call in (lambda one, other, x: (one(x), other(x)), inside):
        diagnosed(
            lambda call=call: critics(copy.copy, call), "AG407", "# twin", "return the same values",
            severity="warning", where=critics,
        )  # fmt: skip

    def apart(one, other, x):
        return one(x), other(-x)

    def only_looked_at(one, other, x):
        with torch.no_grad():
            other(x)
        return one(x), one(-x)

    calm(
        lambda: critics(copy.deepcopy),
        lambda: critics(copy.copy, apart),
        lambda: critics(copy.copy, only_looked_at),
    )
