"""Lottery ticket: prune, rewind the weights in place, start a new optimizer, keep zeros by masking after each step: healthy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LeNet300(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(width, 32), nn.Linear(32, 16), nn.Linear(16, classes)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Ticket:
    def __init__(self, model, fraction=0.3):
        self.model, self.fraction = model, fraction
        self.initial = copy.deepcopy(model.state_dict())
        self.masks = {n: torch.ones_like(p) for n, p in model.named_parameters() if p.dim() > 1}

    @torch.no_grad()
    def prune_and_rewind(self):
        for n, p in self.model.named_parameters():
            if n in self.masks:
                alive = p.abs()[self.masks[n].bool()]
                cut = alive.kthvalue(max(1, int(self.fraction * len(alive)))).values
                self.masks[n].mul_((p.abs() > cut).float())
            p.copy_(self.initial[n])
        self.apply()

    @torch.no_grad()
    def apply(self):
        for n, p in self.model.named_parameters():
            if n in self.masks:
                p.mul_(self.masks[n])

    def sparsity(self):
        total = sum(m.numel() for m in self.masks.values())
        return 1 - sum(m.sum().item() for m in self.masks.values()) / total


def train(model, ticket, data, lr=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for x, y in data:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        ticket.apply()


def run():
    torch.manual_seed(0)
    data = [(torch.randn(32, 16), torch.randint(0, 4, (32,))) for _ in range(3)]
    model = LeNet300()
    ticket = Ticket(model)
    sparsities = []
    for _ in range(3):
        train(model, ticket, data)
        ticket.prune_and_rewind()
        sparsities.append(ticket.sparsity())
    rewound = {
        n: torch.equal(p.detach(), ticket.initial[n] * ticket.masks.get(n, 1)) for n, p in model.named_parameters()
    }
    train(model, ticket, data)
    holds = {n: bool(dict(model.named_parameters())[n][m == 0].eq(0).all()) for n, m in ticket.masks.items()}
    moved = {
        n: not torch.equal(p.detach(), ticket.initial[n] * ticket.masks.get(n, 1)) for n, p in model.named_parameters()
    }
    return sparsities, rewound, holds, moved


def verify(outcome):
    sparsities, rewound, holds, moved = outcome
    assert sparsities == sorted(sparsities) and sparsities[-1] > 0.6
    assert all(rewound.values()) and all(holds.values()) and all(moved.values())


TRUTH = Truth()
