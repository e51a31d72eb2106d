"""Speech: the gradients of a compiled recurrent tagger are clamped by hooks on its parameters."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the hook computes a clamped gradient but returns None, so the gradient is left as it was",
    names=("register_hook", "clamp", "limit"),
    repair=("return grad.clamp(-bound, bound)",),
)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 12)
        self.out = nn.Linear(12, 3)

    def forward(self, frames):
        state = frames.new_zeros(frames.shape[1], 12)
        logits = []
        for frame in frames:
            state = self.cell(frame, state)
            logits.append(self.out(state))
        return torch.stack(logits)


def limit(bound):
    def hook(grad):
        grad = grad.clamp(-bound, bound)  # cause

    return hook


def setup():
    torch.manual_seed(0)


def run():
    model = Recurrent()
    for p in model.parameters():
        p.register_hook(limit(1e-3))
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    largest = []
    for _ in range(3):
        logits = forward(torch.randn(5, 4, 6) * 3)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), torch.randint(3, (20,)))
        optimizer.zero_grad()
        loss.backward()
        largest.append(max(p.grad.abs().max().item() for p in model.parameters()))  # symptom
        optimizer.step()
    return largest


def verify(outcome):
    assert min(outcome) > 2e-3
