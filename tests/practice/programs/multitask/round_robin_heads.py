"""Tasks in turn: each has an optimizer over the trunk and its own head, and the other heads keep no gradient meanwhile."""

import itertools

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TaskHead(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.out = nn.Linear(16, classes)

    def forward(self, h):
        return self.out(self.norm(h))


def run():
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16))
    heads = nn.ModuleDict({"sst": TaskHead(2), "mnli": TaskHead(3), "cola": TaskHead(2)})
    optimizers = {
        name: torch.optim.AdamW(itertools.chain(trunk.parameters(), head.parameters()), lr=2e-3)
        for name, head in heads.items()
    }
    sizes = {"sst": 2, "mnli": 3, "cola": 2}
    order = ["sst", "mnli", "sst", "mnli", "sst"]
    cola = heads["cola"].out.weight.clone().detach()
    others, losses = [], []
    for name in order:
        x, y = torch.randn(8, 8), torch.randint(sizes[name], (8,))
        loss = F.cross_entropy(heads[name](trunk(x)), y)
        loss.backward()
        optimizers[name].step()
        others.append(sum(p.grad is not None for k, head in heads.items() if k != name for p in head.parameters()))
        optimizers[name].zero_grad(set_to_none=True)
        losses.append(loss.item())
    with torch.no_grad():
        zero_shot = heads["cola"](trunk(torch.randn(4, 8))).softmax(-1)
    return trunk, heads, cola, others, losses, zero_shot


TRUTH = Truth()


def verify(out):
    trunk, heads, cola, others, losses, zero_shot = out
    assert others == [0] * 5 and torch.equal(cola, heads["cola"].out.weight)
    assert all(0 < loss < 100 for loss in losses) and not zero_shot.requires_grad
