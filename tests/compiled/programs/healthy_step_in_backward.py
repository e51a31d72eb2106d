"""Detection: each parameter is stepped in backward, which is compiled as well; no gradient outlives it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo import compiled_autograd

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Detector(nn.Module):
    def __init__(self, width=8, classes=3):
        super().__init__()
        self.backbone = nn.Conv2d(1, width, 4, 4)
        self.logits = nn.Conv2d(width, classes, 1)
        self.boxes = nn.Conv2d(width, 4, 1)

    def forward(self, image):
        h = torch.relu(self.backbone(image))
        return self.logits(h), self.boxes(h).exp()


def criterion(logits, boxes, labels, targets):
    inside = (labels > 0)[:, None]
    classes = F.cross_entropy(logits, labels)
    return classes + (F.smooth_l1_loss(boxes, targets, reduction="none") * inside).sum() / (4 * inside.sum() + 1)


def fuse(model, lr):
    counts = {}

    def attach(name, p):
        momentum = torch.zeros_like(p)

        @torch.no_grad()
        def step(p):
            momentum.mul_(0.9).add_(p.grad)
            p.sub_(lr * momentum)
            p.grad = None
            counts[name] = counts.get(name, 0) + 1

        p.register_post_accumulate_grad_hook(step)

    for name, p in model.named_parameters():
        attach(name, p)
    return counts


def setup():
    torch.manual_seed(0)


def run():
    model = Detector()
    forward = torch.compile(model, backend=BACKEND)
    counts = fuse(model, lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(3):
        image = torch.rand(4, 1, 12, 12)
        labels, targets = torch.randint(3, (4, 3, 3)), torch.rand(4, 4, 3, 3)
        loss = criterion(*forward(image), labels, targets)
        with compiled_autograd._enable(torch.compile(backend=BACKEND)):
            loss.backward()
    moved = [not torch.equal(p, s) for p, s in zip(model.parameters(), start)]
    return moved, [p.grad for p in model.parameters()], counts


def verify(outcome):
    moved, grads, counts = outcome
    assert all(moved) and all(g is None for g in grads)
    assert all(count == 3 for count in counts.values()) and len(counts) == 6
