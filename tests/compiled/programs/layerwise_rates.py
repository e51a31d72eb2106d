"""Audio tagging: a pretrained stack is fine-tuned with a rate for each depth, kept as tensors for the compiled step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="all groups hold one rate tensor, which the decay scales in place for each depth: all are far too slow",
    names=("lr", "rate", "param_groups", "mul_"),
    values=True,
    repair=('groups = [{"params": list(layer.parameters()), "lr": rate.clone()} for layer in model]',),
)


class Frames(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(x + F.gelu(self.mix(x)))


def tagger(width=8, depth=4, tags=3):
    return nn.Sequential(*[Frames(width) for _ in range(depth)], nn.Linear(width, tags))


def groups_of(model, rate, decay=0.5):
    groups = [{"params": list(layer.parameters()), "lr": rate} for layer in model]  # cause
    for depth, group in enumerate(reversed(groups)):
        group["lr"].mul_(decay**depth)  # also
    return groups


def clips(n=8):
    x = torch.randn(n, 10, 8)
    return x, (x.mean((1, 2))[:, None] > torch.tensor([-0.1, 0.0, 0.1])).float()


def setup():
    torch.manual_seed(0)


def run():
    model = tagger()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(groups_of(model, torch.tensor(0.2)), foreach=False)

    @torch.compile(backend=BACKEND)
    def step():
        optimizer.step()

    ratios = []
    for _ in range(3):
        x, y = clips()
        loss = F.binary_cross_entropy_with_logits(forward(x).mean(1), y)
        optimizer.zero_grad()
        loss.backward()
        before = model[-1].bias.detach().clone()
        step()
        moved = (before - model[-1].bias.detach()).norm() / model[-1].bias.grad.norm()  # symptom
        ratios.append(moved.item())
    return ratios


def verify(outcome):
    assert max(outcome) < 0.01
