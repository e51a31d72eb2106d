"""One task to many, healthy: PCGrad with one backward per task, gradients gathered and cleared between tasks, projected and written back."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Shared(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 12), nn.ReLU())
        self.age = nn.Linear(12, 1)
        self.group = nn.Linear(12, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.age(h).squeeze(-1), self.group(h)


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for group in optimizer.param_groups for p in group["params"]]

    def gather(self, loss, last):
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward(retain_graph=not last)
        return torch.cat([torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in self.params])

    def step(self, losses):
        grads = [self.gather(loss, last=i == len(losses) - 1) for i, loss in enumerate(losses)]
        projected = [g.clone() for g in grads]
        for i, g in enumerate(projected):
            for j, other in enumerate(grads):
                dot = torch.dot(g, other)
                if i != j and dot < 0:
                    g -= dot / other.square().sum() * other
        self.write(torch.stack(projected).sum(dim=0))
        self.optimizer.step()

    def write(self, flat):
        pieces = flat.split([p.numel() for p in self.params])
        for p, piece in zip(self.params, pieces, strict=True):
            p.grad = piece.view_as(p).clone()


def run():
    torch.manual_seed(0)
    model = Shared()
    surgeon = PCGrad(torch.optim.Adam(model.parameters(), lr=1e-2))
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        x = torch.randn(10, 6)
        age, group = model(x)
        surgeon.step([F.mse_loss(age, x[:, 0]), F.cross_entropy(group, torch.randint(0, 3, (10,)))])
    return before, list(model.parameters())


def verify(outcome):
    before, after = outcome
    assert all(a.grad is not None and not torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))


TRUTH = Truth()
