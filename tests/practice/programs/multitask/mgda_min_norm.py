"""MGDA for two tasks: the best mix is found from gradients of the shared output, and one backward uses it as numbers."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def min_norm_two(g1, g2):
    g1, g2 = g1.flatten(), g2.flatten()
    v11, v12, v22 = (g1 @ g1).item(), (g1 @ g2).item(), (g2 @ g2).item()
    if v12 >= v11:
        return 0.999
    if v12 >= v22:
        return 0.001
    return (v22 - v12) / (v11 + v22 - 2 * v12)


class Cut(nn.Module):
    def forward(self, rep):
        self.rep = rep
        self.leaf = rep.detach().clone().requires_grad_(True)
        return self.leaf


def run():
    torch.manual_seed(0)
    rep_net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
    left, right = nn.Linear(8, 2), nn.Linear(8, 2)
    params = [*rep_net.parameters(), *left.parameters(), *right.parameters()]
    optimizer = torch.optim.SGD(params, lr=0.1, momentum=0.9)
    scales, losses, cut = [], [], Cut()
    for _ in range(3):
        x = torch.randn(16, 6)
        y1, y2 = (x[:, 0] > 0).long(), (x[:, 1] + x[:, 2] > 0).long()
        optimizer.zero_grad()
        with torch.no_grad():
            rep = rep_net(x)
        leaf = cut(rep)
        grads = []
        for head, y in ((left, y1), (right, y2)):
            F.cross_entropy(head(leaf), y).backward()
            grads.append(leaf.grad.data.clone())
            leaf.grad.data.zero_()
        alpha = min_norm_two(*grads)
        optimizer.zero_grad()
        rep = rep_net(x)
        loss = alpha * F.cross_entropy(left(rep), y1) + (1 - alpha) * F.cross_entropy(right(rep), y2)
        loss.backward()
        optimizer.step()
        scales.append(alpha)
        losses.append(loss.item())
    return params, scales, losses


TRUTH = Truth()


def verify(out):
    params, scales, losses = out
    assert all(0 < s < 1 for s in scales) and all(0 < loss < 100 for loss in losses)
    assert all(p.grad.abs().sum() > 0 for p in params)
