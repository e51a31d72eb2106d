"""A gate that keeps the largest scores: its indices are marked as not differentiable, plain arguments get None, the mask is saved."""

import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional as F

from tests.practice.truth import Truth


class TopKGate(Function):
    @staticmethod
    def forward(ctx, scores, k, soft):
        values, index = scores.topk(k, dim=-1)
        mask = torch.zeros_like(scores).scatter_(-1, index, 1.0)
        ctx.save_for_backward(mask, scores)
        ctx.soft = soft
        ctx.mark_non_differentiable(index)
        return mask, index

    @staticmethod
    def backward(ctx, grad_mask, grad_index):
        mask, scores = ctx.saved_tensors
        grad = grad_mask * (1.0 if ctx.soft else mask)
        return grad * (scores.abs() <= 1).float(), None, None


class SparseGated(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.value, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)
        self.usage = torch.zeros(16)

    def forward(self, x):
        mask, index = TopKGate.apply(self.score(x), 4, True)
        self.usage += torch.bincount(index.flatten(), minlength=16)
        return self.out(F.relu(self.value(x)) * mask)


def run():
    torch.manual_seed(0)
    net = SparseGated()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        x, y = torch.randn(8, 8), torch.randint(3, (8,))
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return net, losses


TRUTH = Truth()


def verify(out):
    net, losses = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert net.usage.sum() == 3 * 8 * 4 and all(0 < loss < 100 for loss in losses)
