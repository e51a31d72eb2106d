"""optax to PyTorch: chain(clip_by_global_norm, sgd) lost its order: the port clips once the weights were already moved."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Transformation:
    def __init__(self, function):
        self.update = function


def clip_by_global_norm(limit):
    return Transformation(lambda params, optimizer: nn.utils.clip_grad_norm_(params, limit))


def apply_optimizer():
    return Transformation(lambda params, optimizer: optimizer.step())


def chain(*transformations):
    def update(params, optimizer):
        for transformation in transformations:
            transformation.update(params, optimizer)

    return update


class Dynamics(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.drift = nn.Sequential(nn.Linear(dim, 16), nn.Tanh(), nn.Linear(16, dim))

    def forward(self, state, steps=4):
        for _ in range(steps):
            state = state + 0.1 * self.drift(state)
        return state


def run():
    torch.manual_seed(0)
    model = Dynamics()
    params = list(model.parameters())
    optimizer = torch.optim.SGD(params, lr=1.0)
    tx = chain(apply_optimizer(), clip_by_global_norm(0.1))  # cause
    moves = []
    for _ in range(3):
        start = torch.randn(16, 4) * 10
        optimizer.zero_grad()
        loss = (model(start) - start.roll(1, dims=1)).square().mean()
        loss.backward()
        before = [p.detach().clone() for p in params]
        tx(params, optimizer)
        moves.append(float(torch.stack([(p.detach() - b).norm() for p, b in zip(params, before, strict=True)]).norm()))
    return moves


def verify(moves):
    assert max(moves) > 0.2


TRUTH = Truth(
    fault="the gradients are clipped after the optimizer's step, when they no longer matter",
    names=("clip_grad_norm_",),
    repair=("tx = chain(clip_by_global_norm(0.1), apply_optimizer())",),
)
