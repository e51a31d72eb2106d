"""A forward hook logs activations and returns them, detached: they take the place of the module's output."""

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ActivationStats:
    """Running mean and dead fraction of what the watched layers put out."""

    def __init__(self, model, names):
        self.table = OrderedDict()
        self.handles = [model.get_submodule(n).register_forward_hook(self.make(n)) for n in names]

    def make(self, name):
        def hook(module, args, output):
            act = output.detach()
            dead = (act <= 0).float().mean().item()
            self.table.setdefault(name, []).append((act.mean().item(), dead))
            return act  # cause

        return hook

    def report(self):
        return {k: f"mean {v[-1][0]:.3f} dead {v[-1][1]:.2f}" for k, v in self.table.items()}

    def close(self):
        for h in self.handles:
            h.remove()


class Classifier(nn.Module):
    def __init__(self, inp=6, dim=12, classes=3):
        super().__init__()
        self.block1 = nn.Sequential(nn.Linear(inp, dim), nn.ReLU())
        self.block2 = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.block1(x)
        return self.head(h + self.block2(h))


def run():
    torch.manual_seed(0)
    model = Classifier()
    stats = ActivationStats(model, ["block1", "block2"])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    for epoch in range(3):
        x = torch.randn(32, 6)
        y = x[:, :3].argmax(1)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} {stats.report()}")
    stats.close()
    return model


def verify(out):
    assert out.block1[0].weight.grad is None and out.block2[0].weight.grad is None


TRUTH = Truth(
    fault="a hook replaces the layers' outputs by detached ones",
    names=("block1",),
    repair=("",),
)
