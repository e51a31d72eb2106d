"""Finance: frozen embeddings were cached under inference_mode; the trained head cannot save them for its backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FilingEncoder(nn.Module):
    def __init__(self, vocab=40, dim=12):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        return self.norm(self.bag(ids))


class DefaultHead(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.out = nn.Linear(dim, 1)

    def forward(self, e):
        return self.out(torch.tanh(e * self.scale)).squeeze(-1)


class FeatureCache:
    def __init__(self, encoder):
        self.encoder = encoder.eval()
        self.store = {}

    @torch.inference_mode()  # cause
    def fill(self, filings):
        for company, ids in filings.items():
            self.store[company] = self.encoder(ids[None])[0]

    def batch(self, companies):
        return [self.store[c] for c in companies]


def filings(n):
    return {f"C{i:03d}": torch.randint(40, (9,)) for i in range(n)}


def run():
    torch.manual_seed(0)
    documents = filings(16)
    cache = FeatureCache(FilingEncoder())
    cache.fill(documents)
    head = DefaultHead()
    optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)
    companies = sorted(documents)
    defaulted = torch.tensor([float(documents[c][0] > 20) for c in companies])
    for _ in range(3):
        logits = torch.stack([head(e) for e in cache.batch(companies)])  # symptom
        loss = F.binary_cross_entropy_with_logits(logits, defaulted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


TRUTH = Truth(
    fault="tensors made in inference mode may not take part in autograd",
    names=("inference_mode",),
    raises="Inference tensors cannot be saved for backward",
    repair=("@torch.no_grad()",),
)
