"""Speech: the frames beyond each recording's end are blanked between a compiled encoder and a classifier."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the mask is applied through .data, unseen by autograd: blanked frames still send gradients to the encoder",
    names=("data", "mul_", "mask", "hidden"),
    repair=("hidden = hidden * mask",),
)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Conv1d(4, 8, 3, padding=1)
        self.outer = nn.Conv1d(8, 8, 1)

    def forward(self, frames):
        return self.outer(torch.tanh(self.inner(frames)))


def setup():
    torch.manual_seed(0)


def run():
    encoder, head = Encoder(), nn.Linear(8, 3)
    encode = torch.compile(encoder, backend=BACKEND)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)
    lengths = torch.tensor([6, 3, 2, 5])
    mask = (torch.arange(6) < lengths[:, None]).float()[:, None]
    leaks = []
    for _ in range(3):
        raw = encode(torch.randn(4, 4, 6))
        raw.retain_grad()
        hidden = raw
        hidden.data.mul_(mask)  # cause
        pooled = hidden.sum(-1) / lengths[:, None]
        loss = nn.functional.cross_entropy(head(pooled), torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()
        leaks.append((raw.grad * (1 - mask)).abs().sum().item())  # symptom
        optimizer.step()
    return leaks


def verify(outcome):
    assert min(outcome) > 1e-3
