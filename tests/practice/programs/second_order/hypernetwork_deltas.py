"""A hypernetwork adds deltas to a base model that should learn too, but the base weights are taken from state_dict()."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class Base(nn.Module):
    def __init__(self, inp=3, hidden=8):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(inp, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


class HyperNet(nn.Module):
    """Maps a task embedding to a low-rank change of every weight."""

    def __init__(self, base, tasks, emb=4, scale=0.1):
        super().__init__()
        self.base, self.scale = base, scale
        self.task = nn.Embedding(tasks, emb)
        self.shapes = {n: p.shape for n, p in base.named_parameters()}
        self.gen = nn.Sequential(
            nn.Linear(emb, 16), nn.ReLU(), nn.Linear(16, sum(s.numel() for s in self.shapes.values()))
        )

    def weights(self, task):
        flat = self.gen(self.task(task)).split([s.numel() for s in self.shapes.values()])
        base = self.base.state_dict()  # cause
        return {n: base[n] + self.scale * d.view(s) for (n, s), d in zip(self.shapes.items(), flat)}

    def forward(self, x, task):
        return functional_call(self.base, self.weights(task), (x,))


def sine_task(task, n=16):
    x = torch.randn(n, 3)
    return x, torch.sin(x[:, 0] + task.item()) + 0.1 * x[:, 1]


def run():
    torch.manual_seed(0)
    model = HyperNet(Base(), tasks=3)
    opt = torch.optim.Adam(
        [
            {"params": model.base.parameters(), "lr": 1e-3},
            {"params": [*model.gen.parameters(), *model.task.parameters()]},
        ],
        lr=1e-2,
    )
    for epoch in range(2):
        opt.zero_grad()
        losses = []
        for task in torch.arange(3):
            x, y = sine_task(task)
            losses.append(F.mse_loss(model(x, task), y))
        torch.stack(losses).mean().backward()
        opt.step()
        print(f"epoch {epoch}", [round(l.item(), 4) for l in losses])
    return model


def verify(out):
    assert all(p.grad is None for p in out.base.parameters())


TRUTH = Truth(
    fault="state_dict() gives detached weights, the base model never learns",
    names=("base",),
    repair=("base = dict(self.base.named_parameters())",),
)
