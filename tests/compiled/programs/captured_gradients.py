"""A hand-written SGD with a compiled foreach update, for a click-through model with an embedding bag."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the gradient list is captured once; zero_grad sets .grad to None, so every step uses the first gradients",
    names=("grads", "zero_grad", "set_to_none"),
    repair=("model.zero_grad(set_to_none=False)",),
)


class Click(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.EmbeddingBag(30, 8)
        self.tower = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, bags):
        return self.tower(self.items(bags))[:, 0]


def make_step(model, lr):
    params = list(model.parameters())
    grads = [p.grad for p in params]  # also

    @torch.compile(backend=BACKEND)
    def descend(values, slopes):
        for value, slope in zip(values, slopes):
            value.sub_(slope, alpha=lr)

    def step():
        with torch.no_grad():
            descend([p.detach() for p in params], grads)

    return step


def setup():
    torch.manual_seed(0)


def run():
    model = Click()
    step = None
    moves, slopes = [], []
    for _ in range(4):
        bags, clicked = torch.randint(30, (16, 4)), torch.randint(2, (16,)).float()
        model.zero_grad()  # cause
        nn.functional.binary_cross_entropy_with_logits(model(bags), clicked).backward()
        step = step or make_step(model, 0.1)
        before = model.items.weight.detach().clone()
        step()  # symptom
        moves.append(before - model.items.weight.detach())
        slopes.append(model.items.weight.grad.clone())
    return moves, slopes


def verify(outcome):
    moves, slopes = outcome
    assert not torch.allclose(slopes[0], slopes[3])
    assert torch.allclose(moves[3], 0.1 * slopes[0], atol=1e-6)
    assert not torch.allclose(moves[3], 0.1 * slopes[3], atol=1e-6)
