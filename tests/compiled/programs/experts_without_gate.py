"""A compiled mixture of experts sends each token to its best expert and forgets to weigh the answer by the gate."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Experts(nn.Module):
    def __init__(self, width=8, count=4):
        super().__init__()
        self.norm, self.router = nn.LayerNorm(width), nn.Linear(width, count, bias=False)
        self.inner = nn.Parameter(torch.randn(count, width, 16) * 0.2)
        self.outer = nn.Parameter(torch.randn(count, 16, width) * 0.2)

    def forward(self, x):
        h = self.norm(x)
        gate, chosen = self.router(h).softmax(-1).max(-1)  # also
        spread = F.one_hot(chosen, len(self.inner)).to(x.dtype)
        hidden = F.gelu(torch.einsum("nd,edf->nef", h, self.inner))
        answers = torch.einsum("nef,efd->ned", hidden, self.outer)
        mixed = (answers * spread.unsqueeze(-1)).sum(1)
        return x + mixed  # cause


class Tagger(nn.Module):
    def __init__(self, vocab=20, tags=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, 8)
        self.first, self.second = Experts(), Experts()
        self.head = nn.Linear(8, tags)

    def forward(self, ids):
        return self.head(self.second(self.first(self.embed(ids))))


def run():
    torch.manual_seed(0)
    model = Tagger()
    model.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    before = [m.router.weight.detach().clone() for m in (model.first, model.second)]
    for _ in range(4):
        ids = torch.randint(20, (24,))
        loss = F.cross_entropy(model(ids), ids % 5)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return [(b - m.router.weight).abs().max().item() for b, m in zip(before, (model.first, model.second))]


def verify(outcome):
    assert all(moved == 0 for moved in outcome)


TRUTH = Truth(
    fault="the choice of an expert has no gradient and the gate is not used: the routers do not learn",
    names=("router", "gate"),
    repair=("return x + gate.unsqueeze(-1) * mixed",),
)
