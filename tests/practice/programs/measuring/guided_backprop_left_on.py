"""Guided backpropagation pictures: the ReLU hooks stay installed and training goes on with guided gradients."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class VGGish(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU()
        )
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.body(x).mean((2, 3)))


class GuidedBackprop:
    """Springenberg et al.: only positive gradients pass a ReLU."""

    def __init__(self, model):
        self.model = model
        self.handles = []

    def __enter__(self):
        for module in self.model.modules():
            if isinstance(module, nn.ReLU):
                module.register_full_backward_hook(self.guide)  # cause
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    @staticmethod
    def guide(module, grad_input, grad_output):
        return (grad_input[0].clamp(min=0),)

    def image(self, x, target):
        x = x[None].clone().requires_grad_()
        return torch.autograd.grad(self.model(x)[0, target], x)[0][0]


def batch(n=16):
    y = torch.randint(0, 3, (n,))
    return torch.randn(n, 1, 6, 6) + y.view(-1, 1, 1, 1), y


def functional(model, x):
    """The same network without modules for the ReLUs: an independent check of the gradient."""
    a, _, b, _ = model.body
    return model.fc(F.relu(b(F.relu(a(x)))).mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = VGGish()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    errors = []
    for epoch in range(2):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        weight = model.body[0].weight
        true = torch.autograd.grad(F.cross_entropy(functional(model, x), y), weight)[0]
        errors.append(((weight.grad - true).norm() / true.norm()).item())
        optimizer.step()
        with GuidedBackprop(model) as guided:
            assert guided.image(x[0], 1).shape == (1, 6, 6)
    return errors


def verify(outcome):
    assert outcome[0] < 1e-5 and outcome[1] > 0.1


TRUTH = Truth(
    fault="the handles of the backward hooks are not kept, so they are never removed and alter the training gradients",
    names=("ReLU",),
    repair=("self.handles.append(module.register_full_backward_hook(self.guide))",),
)
