"""Deduplicated: retrieval's embed() with its @torch.no_grad() replaced the training loop's own copy for the queries."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BiEncoder(nn.Module):
    def __init__(self, vocab=40, dim=8):
        super().__init__()
        self.query = nn.Sequential(nn.EmbeddingBag(vocab, dim), nn.Linear(dim, dim))
        self.passage = nn.Sequential(nn.EmbeddingBag(vocab, dim), nn.Linear(dim, dim))


@torch.no_grad()  # also
def embed(tower, tokens):  # used by index building, search and training
    return F.normalize(tower(tokens), dim=-1)


def embed_passages(model, tokens):
    return F.normalize(model.passage(tokens), dim=-1)


def build_index(model, corpus):
    return torch.cat([embed(model.passage, chunk) for chunk in corpus.split(4)])


def search(model, index, tokens, k=2):
    return (embed(model.query, tokens) @ index.T).topk(k).indices


def in_batch_loss(model, queries, passages, temperature=0.1):
    q = embed(model.query, queries)  # cause
    p = embed_passages(model, passages)
    return F.cross_entropy(q @ p.T / temperature, torch.arange(len(q)))


def run():
    torch.manual_seed(0)
    model = BiEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    before = model.query[1].weight.detach().clone()
    corpus = torch.randint(0, 40, (12, 6))
    for _ in range(3):
        pick = torch.randperm(12)[:6]
        loss = in_batch_loss(model, corpus[pick][:, :3], corpus[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    search(model, build_index(model, corpus), corpus[:2, :3])
    return before, model.query[1].weight, model.passage[1].weight


def verify(outcome):
    before, query, passage = outcome
    assert query.grad is None and torch.equal(before, query.detach())
    assert passage.grad is not None


TRUTH = Truth(
    fault="the queries are embedded by a helper under no_grad: the query tower gets no gradient",
    names=("query",),
    repair=("q = F.normalize(model.query(queries), dim=-1)",),
)
