"""Vision: a mixer ported from another framework, with compiled torch.func gradients and torch.optim."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="gradients in the order of sorted names are handed to parameters in the order of their registration",
    names=("zip", "sorted", "channel", "token"),
    values=True,
    repair=("for p, g in zip(params.values(), grads.values()):",),
)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.token = nn.Linear(size, size, bias=False)
        self.channel = nn.Linear(size, size, bias=False)

    def forward(self, x):
        x = x + self.token(F.gelu(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(F.gelu(x))


class Mixer(nn.Module):
    def __init__(self, size=9, classes=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(size) for _ in range(2))
        self.embed = nn.Linear(4, size, bias=False)
        self.head = nn.Linear(size, classes, bias=False)

    def forward(self, images):
        patches = F.unfold(images, 2, stride=2).transpose(1, 2)
        x = self.embed(patches)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def train_step(model, optimizer, gradients, images, labels):
    params = dict(sorted(model.named_parameters()))  # also
    grads, loss = gradients({name: p.detach() for name, p in params.items()}, images, labels)
    for p, g in zip(model.parameters(), grads.values()):  # cause
        p.grad = g  # also
    optimizer.step()
    return loss.item()


def setup():
    torch.manual_seed(0)


def run():
    model = Mixer()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    def objective(params, images, labels):
        return F.cross_entropy(functional_call(model, params, (images,)), labels)

    gradients = torch.compile(grad_and_value(objective), backend=BACKEND)
    gaps = []
    for _ in range(3):
        images, labels = torch.randn(8, 1, 6, 6), torch.randint(3, (8,))
        exact = torch.autograd.grad(F.cross_entropy(model(images), labels), model.blocks[0].token.weight)[0]
        train_step(model, optimizer, gradients, images, labels)
        gaps.append(((model.blocks[0].token.weight.grad - exact).norm() / exact.norm()).item())  # symptom
    return gaps


def verify(outcome):
    assert min(outcome) > 0.1
