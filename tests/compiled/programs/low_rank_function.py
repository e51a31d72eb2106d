"""Recommendation: a ranking tower with a custom autograd function for its biased low-rank layer, compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the custom backward returns None for the bias, which thus never trains",
    names=("backward", "bias", "LowRank"),
    repair=("return grad_x, grad_left, grad_right, grad.flatten(0, -2).sum(0)",),
)


class LowRank(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, left, right, bias):
        narrow = x @ left
        ctx.save_for_backward(x, narrow, left, right)
        return narrow @ right + bias

    @staticmethod
    def backward(ctx, grad):
        x, narrow, left, right = ctx.saved_tensors
        grad_narrow = grad @ right.T
        grad_x = grad_narrow @ left.T
        grad_left = x.flatten(0, -2).T @ grad_narrow.flatten(0, -2)
        grad_right = narrow.flatten(0, -2).T @ grad.flatten(0, -2)
        return grad_x, grad_left, grad_right, None  # cause


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.items, self.users = nn.Embedding(40, 8), nn.Embedding(15, 8)
        self.left, self.right = nn.Parameter(torch.randn(8, 3) / 3), nn.Parameter(torch.randn(3, 8) / 2)
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, users, items):
        tower = torch.relu(LowRank.apply(self.items(items), self.left, self.right, self.bias))
        return (tower * self.users(users)[:, None]).sum(-1)


def setup():
    torch.manual_seed(0)


def run():
    model = Ranker()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for _ in range(3):
        scores = model(torch.randint(15, (6,)), torch.randint(40, (6, 4)))
        loss = -torch.log_softmax(scores, -1)[:, 0].mean()
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
    return model.bias.detach(), model.left.grad, model.right.grad


def verify(outcome):
    bias, left, right = outcome
    assert torch.equal(bias, torch.zeros(8))
    assert left.abs().sum() > 0 and right.abs().sum() > 0
