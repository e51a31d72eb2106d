"""A compiled message-passing layer of a physics simulator adds its messages by an index that holds duplicates."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Interaction(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width + 1, 16), nn.ELU(), nn.Linear(16, width))
        self.update = nn.Linear(2 * width, width)

    def forward(self, nodes, lengths, source, target):
        messages = self.message(torch.cat([nodes[source], nodes[target], lengths], -1))
        total = torch.zeros_like(nodes)
        total[target] += messages  # cause
        return nodes + self.update(torch.cat([nodes, total], -1))


class Simulator(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.encode, self.decode = nn.Linear(2, width), nn.Linear(width, 2)
        self.layers = nn.ModuleList(Interaction(width) for _ in range(2))

    def forward(self, x, rest, source, target):
        h = self.encode(x)
        for layer in self.layers:
            h = layer(h, rest, source, target)
        return self.decode(h)


def run():
    torch.manual_seed(0)
    model = Simulator()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    ring = torch.arange(7)
    source, target = torch.cat([ring, ring, ring]), torch.cat([ring.roll(1), ring.roll(-1), ring.roll(2)])
    for _ in range(3):
        x = torch.randn(7, 2)
        rest = (x[source] - x[target]).norm(dim=-1, keepdim=True).requires_grad_()
        force = torch.zeros(7, 2).index_add(0, target, x[source] - x[target])
        loss = F.mse_loss(forward(x, rest, source, target), force)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        now = forward(x, rest, source, target)
        rest[:14] += 1
        return (forward(x, rest, source, target) - now).abs().max().item(), rest.grad[:14].abs().max().item()


def verify(outcome):
    # two of the three springs at each node change nothing, and yet they get a gradient
    change, grad = outcome
    assert change == 0 and grad > 0


TRUTH = Truth(
    fault="of the messages to one node only the last is kept: an indexed += does not add up duplicates",
    names=("total", "messages"),
    repair=("total = total.index_add(0, target, messages)",),
)
