"""Low-rank adapters in a compiled classifier: both factors begin at zero, and none of them ever leaves it."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class LoRA(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base, self.scale = base.requires_grad_(False), alpha / rank
        self.a = nn.Parameter(torch.empty(rank, base.in_features))
        self.b = nn.Parameter(torch.empty(base.out_features, rank))
        self.reset()

    def reset(self):
        nn.init.zeros_(self.a)  # cause
        nn.init.zeros_(self.b)  # also

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(25, 10)
        self.inner, self.outer = nn.Linear(10, 16), nn.Linear(16, 10)
        self.head = nn.Linear(10, 3)

    def forward(self, ids):
        h = self.embed(ids)
        return self.head(h + self.outer(torch.relu(self.inner(h))))


def run():
    torch.manual_seed(0)
    model = Classifier().requires_grad_(False)
    model.inner, model.outer = LoRA(model.inner), LoRA(model.outer)
    model.head.requires_grad_(True)
    step = torch.compile(model, backend=BACKEND)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=1e-2)
    for _ in range(4):
        ids = torch.randint(25, (12, 6))
        loss = F.cross_entropy(step(ids), ids[:, 0] % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: p.detach().abs().max().item() for name, p in model.named_parameters() if p.requires_grad}


def verify(outcome):
    factors = [size for name, size in outcome.items() if name.endswith((".a", ".b"))]
    assert len(factors) == 4 and not any(factors) and outcome["head.weight"] > 0


TRUTH = Truth(
    fault="each factor's gradient is a product with the other, which is zero",
    names=("inner.a", "inner.b"),
    values=True,
    repair=("nn.init.normal_(self.a, std=0.1)",),
)
