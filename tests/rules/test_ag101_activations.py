"""AG101 on activations: in place, in hooks, in lists."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_detached_in_place():
    """`detach_()` on an activation cuts it off; on the state carried between batches it is right."""

    def sick():
        embed, cell, head = nn.Linear(4, 6), nn.GRUCell(6, 6), nn.Linear(6, 2)
        optimizer = torch.optim.Adam([*embed.parameters(), *cell.parameters(), *head.parameters()])
        state = torch.zeros(8, 6)
        for _ in range(2):
            token = embed(X)
            token.detach_()
            state = cell(token, state)
        trained(optimizer, F.cross_entropy(head(state), Y))

    def healthy():
        embed, cell, head = nn.Linear(4, 6), nn.GRUCell(6, 6), nn.Linear(6, 2)
        optimizer = torch.optim.Adam([*embed.parameters(), *cell.parameters(), *head.parameters()])
        state = torch.zeros(8, 6)
        for _ in range(2):
            state = cell(embed(X), state)
            trained(optimizer, F.cross_entropy(head(state), Y))
            state.detach_()

    diagnosed(sick, "AG101", "token.detach_()", "embed.weight", ".detach_()", severity="warning")
    silent(healthy)


def test_forward_hook_that_returns_a_detached_output():
    """A feature extractor's hook stores detached activations; a loss on them trains nothing behind the hook."""

    def program(keep):
        net, probe = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), nn.Linear(6, 2)
        optimizer = torch.optim.SGD([*net[0].parameters(), *probe.parameters()], lr=0.1)
        features = {}
        handle = net[1].register_forward_hook(keep(features))
        net(X)
        handle.remove()
        trained(optimizer, F.cross_entropy(probe(features["relu"]), Y))

    def keep_detached(features):
        def hook(module, args, output):
            features["relu"] = output.detach()

        return hook

    def keep_live(features):
        def hook(module, args, output):
            features["relu"] = output

        return hook

    diagnosed(
        lambda: program(keep_detached), "AG101", "output.detach()", "0.weight", severity="warning", where=keep_detached
    )
    silent(lambda: program(keep_live))


def test_list_of_detached_expert_outputs():
    """Each element of a comprehension was detached: the experts do not learn, their gate does."""

    def mixture(outputs):
        experts, gate = nn.ModuleList(nn.Linear(4, 2) for _ in range(3)), nn.Linear(4, 3)
        optimizer = torch.optim.Adam([*experts.parameters(), *gate.parameters()])
        mixed = (gate(X).softmax(-1).unsqueeze(-1) * torch.stack(outputs(experts), dim=1)).sum(1)
        trained(optimizer, F.cross_entropy(mixed, Y))

    def sick():
        mixture(lambda experts: [expert(X).detach() for expert in experts])

    def healthy():
        mixture(lambda experts: [expert(X) for expert in experts])

    diagnosed(sick, "AG101", "expert(X).detach()", "experts", "weight", severity="warning")
    silent(healthy)


@pytest.mark.timeout(30)
def test_two_thousand_cuts():
    """A line in a long loop is one finding, found in time that grows with the program, not with its square."""

    def sick():
        start = nn.Parameter(torch.randn(4))
        scale = nn.Parameter(torch.randn(4))
        optimizer = torch.optim.SGD([start, scale], lr=0.1)
        state, loss = start * 1.0, scale.sum()
        for _ in range(2000):
            state = state * 0.99 + 0.01
            loss = loss + state.detach().sum()
        trained(optimizer, loss)

    diagnosed(sick, "AG101", "state.detach()", "start", severity="warning")
