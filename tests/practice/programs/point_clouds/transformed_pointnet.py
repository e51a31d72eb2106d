"""PointNet with an input transform and its regulariser, a chamfer term, and a saliency map of the result: all is well."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TNet(nn.Module):
    """Starts as the identity."""

    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv = nn.Sequential(nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16), nn.ReLU(inplace=True))
        self.fc = nn.Linear(16, k * k)
        nn.init.zeros_(self.fc.weight)
        with torch.no_grad():
            self.fc.bias.copy_(torch.eye(k).flatten())

    def forward(self, x):
        return self.fc(self.conv(x).amax(-1)).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=4, points=8):
        super().__init__()
        self.tnet = TNet()
        self.mlp = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Conv1d(16, 24, 1))
        self.classify = nn.Sequential(nn.Linear(24, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, classes))
        self.coarse = nn.Linear(24, 3 * points)

    def forward(self, xyz):
        transform = self.tnet(xyz.mT)
        pooled, which = self.mlp((xyz @ transform).mT).max(-1)
        return self.classify(pooled), self.coarse(pooled).unflatten(-1, (-1, 3)), transform, which


def orthogonality(a):
    return (a @ a.mT - torch.eye(a.shape[-1])).square().sum((1, 2)).mean()


def chamfer(a, b):
    """Nearest neighbours are found without a graph, distances are taken again with one."""
    with torch.no_grad():
        d = torch.cdist(a, b)
        to_b, to_a = d.argmin(2), d.argmin(1)
    rows = torch.arange(len(a)).unsqueeze(1)
    return (a - b[rows, to_b]).square().sum(-1).mean() + (b - a[rows, to_a]).square().sum(-1).mean()


def saliency(model, xyz, label):
    """How much each point matters to the score of its class."""
    model.eval()
    xyz = xyz.clone().requires_grad_(True)
    score = model(xyz)[0].gather(1, label[:, None]).sum()
    (gradient,) = torch.autograd.grad(score, xyz)
    model.train()
    return gradient.norm(dim=-1)


def run(steps=4):
    torch.manual_seed(0)
    model = PointNet()
    decay, no_decay = [], []
    for p in model.parameters():
        (decay if p.dim() > 1 else no_decay).append(p)
    groups = [{"params": decay, "weight_decay": 1e-2}, {"params": no_decay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps)
    maps = []
    for step in range(steps):
        xyz, label = torch.randn(6, 20, 3), torch.randint(4, (6,))
        logits, coarse, transform, _ = model(xyz)
        loss = F.cross_entropy(logits, label) + 0.1 * chamfer(coarse, xyz) + 1e-3 * orthogonality(transform)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        maps.append(saliency(model, xyz, label))
        print(f"step {step} loss {loss.item():.4f}")
    return model, maps


def verify(out):
    model, maps = out
    assert model.training and all(p.grad is not None for p in model.parameters())
    assert all((m > 0).any() and not m.requires_grad for m in maps)


TRUTH = Truth()
