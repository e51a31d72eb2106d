"""A model in half precision, a loss that is averaged over all tokens, no loss scale: gradients fall below half's range."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Reranker(nn.Module):
    def __init__(self, vocab=32, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.inner = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)

    def forward(self, ids):
        return self.score(torch.tanh(self.inner(self.embed(ids)))).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = Reranker().half()  # cause
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        ids = torch.randint(32, (64, 64))
        targets = torch.rand(64, 64, dtype=torch.float16)
        per_token = F.mse_loss(model(ids), targets, reduction="none")
        loss = (per_token * 1e-4).float().mean()  # also
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.embed.weight.grad.abs().max().item(), model.score.bias.grad


def verify(out):
    assert out[0] == 0.0


TRUTH = Truth(
    fault="gradients are too small for half precision",
    values=True,
    repair=("model = Reranker()",),
)
