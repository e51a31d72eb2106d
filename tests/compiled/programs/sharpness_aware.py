"""Vision: sharpness-aware training; the climb to the worse point and the way back are compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the gradient of the first pass is still there in the second, so the step uses the sum of both",
    names=("zero_grad", "backward", "climb"),
    repair=("offsets = climb(params, [p.grad for p in params]); net.zero_grad()",),
)


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
@torch.no_grad()
def climb(params, grads):
    norm = torch.stack([g.norm() for g in grads]).norm() + 1e-12
    offsets = [0.05 * g / norm for g in grads]
    for p, offset in zip(params, offsets):
        p.add_(offset)
    return offsets


@torch.compile(backend=BACKEND)
@torch.no_grad()
def descend(params, offsets):
    for p, offset in zip(params, offsets):
        p.sub_(offset)


def run():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2), nn.Flatten(), nn.Linear(16, 3))
    forward = torch.compile(net, backend=BACKEND)
    params = list(net.parameters())
    optimizer = torch.optim.SGD(params, lr=0.05)
    gaps = []
    for _ in range(3):
        images, labels = torch.randn(8, 1, 8, 8), torch.randint(3, (8,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(forward(images), labels).backward()
        offsets = climb(params, [p.grad for p in params])  # cause
        sharp = nn.functional.cross_entropy(forward(images), labels)
        exact = torch.autograd.grad(nn.functional.cross_entropy(net(images), labels), params)
        sharp.backward()  # symptom
        gaps.append(max((p.grad - g).abs().max().item() for p, g in zip(params, exact)))
        descend(params, offsets)
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 1e-2
