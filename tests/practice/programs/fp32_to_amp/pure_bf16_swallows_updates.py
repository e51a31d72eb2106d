"""fp32 to bf16: autocast was replaced by model.bfloat16(); the weights' eight bits swallow every update of the small learning rate."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

CONFIG = {"lr": 1e-5, "steps": 4}


class Reranker(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.hidden = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, pairs):
        return self.score(F.gelu(self.hidden(self.norm(pairs)))).squeeze(-1)


def pretrained():
    model = Reranker()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.empty_like(p).uniform_(0.1, 0.2) * torch.randn_like(p).sign())
    return model


def prepare(model):
    """Mixed precision: half the memory."""
    return model.to(torch.bfloat16)  # cause


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=CONFIG["lr"], momentum=0.9)
    dtype = model.score.weight.dtype
    for _ in range(steps):
        pairs = torch.randn(8, 2, 16, dtype=dtype)
        good, bad = model(pairs).float().unbind(dim=1)
        loss = F.softplus(bad - good).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = prepare(pretrained())
    before = [p.detach().clone() for p in model.parameters()]
    train(model, CONFIG["steps"])
    return before, list(model.parameters())


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a.detach()) for b, a in zip(before, after, strict=True))
    assert all(a.grad is not None for a in after)


TRUTH = Truth(
    fault="the weights are bfloat16 without an fp32 copy: updates are below their precision and vanish",
    names=("bfloat16",),
    values=True,
    repair=("return model",),
)
