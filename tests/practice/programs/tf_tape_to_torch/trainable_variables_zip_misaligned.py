"""TensorFlow to PyTorch: tape.gradient's list lost its None entries, so that zip() hands each block the gradient of the next one."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ResidualMLP(nn.Module):
    def __init__(self, width=8, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.blocks[0].weight.requires_grad_(False)
        self.gain = nn.Parameter(torch.ones(()))

    def forward(self, x):
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return x * self.gain

    @property
    def weights(self):
        return [block.weight for block in self.blocks]

    @property
    def trainable_weights(self):
        return [weight for weight in self.weights if weight.requires_grad]


class SGD:
    def __init__(self, weights, learning_rate):
        self.optimizer = torch.optim.SGD(weights, lr=learning_rate, momentum=0.9)

    def apply_gradients(self, grads_and_vars):
        self.optimizer.zero_grad()
        for gradient, weight in grads_and_vars:
            weight.grad = gradient
        self.optimizer.step()


def gradient(loss, weights):
    return torch.autograd.grad(loss, weights)


def run():
    torch.manual_seed(0)
    model = ResidualMLP()
    optimizer = SGD(model.weights, 0.05)
    start = model.blocks[0].weight.detach().clone()
    for _ in range(3):
        x = torch.randn(10, 8)
        loss = (model(x) - x.flip(-1)).square().mean()
        grads = gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.weights))  # cause
    return start, model.blocks[0].weight.detach(), model.blocks[2].weight.grad


def verify(outcome):
    start, frozen, last_gradient = outcome
    assert not torch.equal(start, frozen) and last_gradient is None


TRUTH = Truth(
    fault="gradients are zipped with the full list of weights: the frozen first block is stepped with the second's gradient, the last block gets none",
    names=("blocks",),
    repair=("optimizer.apply_gradients(zip(grads, model.trainable_weights))",),
)
