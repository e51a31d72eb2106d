"""SwAV: codes by Sinkhorn without gradient, prototypes normalised in place, their gradients thrown away at first: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SwAV(nn.Module):
    def __init__(self, width=10, dim=8, prototypes=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(width, 24, bias=False), nn.BatchNorm1d(24), nn.ReLU(inplace=True))
        self.projection = nn.Linear(24, dim)
        self.prototypes = nn.Linear(dim, prototypes, bias=False)

    @torch.no_grad()
    def normalise_prototypes(self):
        w = self.prototypes.weight.data.clone()
        self.prototypes.weight.copy_(F.normalize(w, dim=1))

    def forward(self, views):
        z = self.projection(torch.cat([self.backbone(v) for v in views]))
        z = F.normalize(z, dim=1)
        return z, self.prototypes(z)


@torch.no_grad()
def sinkhorn(scores, eps=0.05, iterations=3):
    q = torch.exp(scores / eps).t()
    k, b = q.shape
    q /= q.sum()
    for _ in range(iterations):
        q /= q.sum(dim=1, keepdim=True)
        q /= k
        q /= q.sum(dim=0, keepdim=True)
        q /= b
    return (q * b).t()


class SwAVLoss:
    def __init__(self, queue_size=12, dim=8, temperature=0.1):
        self.temperature = temperature
        self.queue = torch.zeros(2, queue_size, dim)
        self.filled = 0

    def __call__(self, model, z, scores, b):
        loss = torch.zeros(())
        for i in range(2):
            with torch.no_grad():
                out = scores[b * i : b * (i + 1)].detach()
                if self.filled >= self.queue.size(1):
                    out = torch.cat([self.queue[i] @ model.prototypes.weight.t(), out])
                self.queue[i, b:] = self.queue[i, :-b].clone()
                self.queue[i, :b] = z[i * b : (i + 1) * b]
                q = sinkhorn(out)[-b:]
            p = scores[b * (1 - i) : b * (2 - i)] / self.temperature
            loss = loss - (q * F.log_softmax(p, 1)).sum(1).mean() / 2
        self.filled += b
        return loss


def run(freeze_steps=2):
    torch.manual_seed(0)
    model, criterion = SwAV(), SwAVLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-6)
    model.normalise_prototypes()
    moved = []
    before_all = [p.detach().clone() for p in model.parameters()]
    for step in range(5):
        before = model.prototypes.weight.detach().clone()
        x = torch.randn(6, 10)
        views = [x + 0.1 * torch.randn_like(x) for _ in range(2)]
        loss = criterion(model, *model(views), b=6)
        optimizer.zero_grad()
        loss.backward()
        if step < freeze_steps:
            model.prototypes.weight.grad = None
        optimizer.step()
        model.normalise_prototypes()
        moved.append((model.prototypes.weight.detach() - before).abs().max().item())
    return moved, before_all, [p.detach() for p in model.parameters()]


def verify(outcome):
    moved, before, after = outcome
    assert max(moved[:2]) < 1e-6 < min(moved[2:])
    assert all(not torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth()
