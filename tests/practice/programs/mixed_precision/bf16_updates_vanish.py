"""Pure bfloat16: weights near one and a small learning rate, each update is rounded away and the norm never learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * x.float().square().mean(-1, keepdim=True).add(1e-6).rsqrt().to(x.dtype)


class ProteinHead(nn.Module):
    """Fine-tunes the norm and a bias on top of frozen embeddings of residues."""

    def __init__(self, dim=16, classes=3):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.readout = nn.Linear(dim, classes, bias=False).requires_grad_(False)
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, x):
        return self.readout(self.norm(x)) + self.bias


def build(dtype):
    return ProteinHead().to(dtype)  # also


def run():
    torch.manual_seed(0)
    dtype = torch.bfloat16  # cause
    model = build(dtype)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, weight_decay=0.0)
    residues = torch.randn(32, 16)
    label = residues[:, :3].argmax(1)
    start = model.norm.weight.detach().clone()
    for _ in range(4):
        logits = model(residues.to(dtype))
        loss = nn.functional.cross_entropy(logits.float(), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return start, model.norm.weight.detach(), model.norm.weight.grad


def verify(outcome):
    start, now, grad = outcome
    assert grad.abs().sum() > 0
    assert torch.equal(start, now)


TRUTH = Truth(
    values=True,
    fault="bfloat16 has no number between 1 and 1 - 1/256: updates of 1e-4 are lost",
    names=("norm",),
    repair=("dtype = torch.float32",),
)
