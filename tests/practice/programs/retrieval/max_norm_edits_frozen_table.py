"""Retrieval: the frozen pretrained table has max_norm, so every look-up, even an evaluation's, rescales its rows in place."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def pretrained_vectors(words, dim):
    generator = torch.Generator().manual_seed(3)
    return 2 * torch.randn(words, dim, generator=generator)


class QueryTower(nn.Module):
    def __init__(self, vectors, out=8):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=True, max_norm=1.0)  # cause
        self.gate = nn.Linear(vectors.size(1), 1)
        self.project = nn.Linear(vectors.size(1), out)

    def forward(self, ids):
        e = self.words(ids)
        return F.normalize(self.project((torch.sigmoid(self.gate(e)) * e).sum(1)), dim=-1)


class DocumentTower(nn.Module):
    def __init__(self, documents, out=8):
        super().__init__()
        self.table = nn.Embedding(documents, out)

    def forward(self, ids):
        return F.normalize(self.table(ids), dim=-1)


def info_nce(q, d, temperature=0.1):
    return F.cross_entropy(q @ d.t() / temperature, torch.arange(q.size(0)))


@torch.no_grad()
def recall_at_1(query, document, ids, docs):
    scores = query(ids) @ document(torch.arange(20)).t()
    return (scores.argmax(1) == docs).float().mean().item()


def run():
    torch.manual_seed(0)
    vectors = pretrained_vectors(30, 12)
    original = vectors.clone()
    query, document = QueryTower(vectors), DocumentTower(20)
    optimizer = torch.optim.Adam([p for m in (query, document) for p in m.parameters() if p.requires_grad], lr=1e-2)
    ids = torch.randint(30, (20, 5))
    docs = torch.arange(20)
    for _ in range(3):
        loss = info_nce(query(ids), document(docs))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    recall_at_1(query, document, ids, docs)
    return original, query.words.weight


def verify(outcome):
    original, table = outcome
    assert not torch.equal(original, table)


TRUTH = Truth(
    minor=True,
    fault="max_norm renormalises the rows in the weight itself, frozen or not",
    names=("words", "max_norm"),
    repair=("self.words = nn.Embedding.from_pretrained(vectors, freeze=True)",),
)
