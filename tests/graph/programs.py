"""Programs whose autograd graphs are compared with torchviz's: each sets up once and then computes a loss."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Program = Callable[[], Tensor]
PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(setup: Callable[[], Program]) -> Callable[[], Program]:
    """Add a program under its function's name."""
    PROGRAMS[setup.__name__] = setup
    return setup


class Doubling(torch.autograd.Function):
    """A custom Function with a saved tensor, which torchviz draws although it was not asked for saved tensors."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        return x * 2, x.exp()

    @staticmethod
    def backward(ctx, doubled, exponential):
        (x,) = ctx.saved_tensors
        return doubled * 2 + exponential * x.exp(), None


@program
def custom_function() -> Program:
    x = torch.randn(3, 4, requires_grad=True)

    def loss() -> Tensor:
        doubled, exponential = Doubling.apply(x.sin(), 2)
        return (doubled * exponential).sum()

    return loss


@program
def double_backward() -> Program:
    net = nn.Sequential(nn.Linear(4, 8), nn.Softplus(), nn.Linear(8, 1))

    def penalty() -> Tensor:
        x = torch.randn(5, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    return penalty


@program
def lstm() -> Program:
    net, x = nn.LSTM(4, 8, num_layers=2, bidirectional=True, batch_first=True), torch.randn(2, 6, 4)
    return lambda: net(x)[0][:, -1].square().mean()


@program
def recurrent_loop() -> Program:
    cell, head, x = nn.GRUCell(4, 8), nn.Linear(8, 1), torch.randn(12, 2, 4)

    def loss() -> Tensor:
        state, total = torch.zeros(2, 8), torch.zeros(())
        for now in x:
            state = cell(now, state)
            total = total + head(state).mean()
        return total

    return loss


@program
def shared_weights() -> Program:
    embedding = nn.Embedding(11, 6)
    head, block = nn.Linear(6, 11, bias=False), nn.Linear(6, 6)
    head.weight = embedding.weight
    tokens = torch.arange(8)
    return lambda: nn.functional.cross_entropy(head(block(block(embedding(tokens))).tanh()), tokens)


@program
def in_place() -> Program:
    w, bias = torch.randn(4, 4, requires_grad=True), torch.randn(4, requires_grad=True)

    def loss() -> Tensor:
        buffer = torch.zeros(4, 4)
        for row in range(4):
            buffer[row] = w[row] * row + bias
        first, second = buffer.split(2)
        return (first.mul(second).relu_() ** 2).sum()

    return loss


def _blocks(*, use_reentrant: bool) -> Program:
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(0.1)) for _ in range(3))

    def loss() -> Tensor:
        x = torch.randn(2, 4, requires_grad=True)
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=use_reentrant)
        return x.mean()

    return loss


@program
def checkpointed() -> Program:
    return _blocks(use_reentrant=False)


@program
def checkpointed_reentrant() -> Program:
    return _blocks(use_reentrant=True)


@program
def output_is_a_view() -> Program:
    w = torch.randn(3, 4, requires_grad=True)

    def loss() -> Tensor:
        return (w @ w.T).exp().sum(0).view(1, 3)[:, 1].squeeze()

    return loss
