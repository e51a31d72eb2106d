"""Vision: a compiled update keeps an average of a convolutional net, and the average is what is evaluated."""

import copy

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the averaged copy never gets the batch-norm buffers: it is evaluated with its initial running statistics",
    names=("running_mean", "running_var", "average"),
    repair=("update(average, model); [a.copy_(b) for a, b in zip(average.buffers(), model.buffers())]",),
)


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
def lerp(targets, sources, weight):
    for target, source in zip(targets, sources):
        target.lerp_(source, weight)


def update(average, model):
    with torch.no_grad():
        lerp(list(average.parameters()), list(model.parameters()), 0.1)  # also


def run():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)
    )
    average = copy.deepcopy(model).requires_grad_(False)
    step = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        images, labels = torch.randn(8, 1, 8, 8) * 3 + 2, torch.randint(3, (8,))
        loss = nn.functional.cross_entropy(step(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update(average, model)  # cause
    average.eval()
    logits = average(torch.randn(8, 1, 8, 8) * 3 + 2)  # symptom
    return average[1].running_var.clone(), model[1].running_var.clone(), logits


def verify(outcome):
    kept, live, _ = outcome
    assert torch.equal(kept, torch.ones(4))
    assert not torch.allclose(kept, live)
