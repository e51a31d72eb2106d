"""Knowledge-graph embeddings with max_norm: the lookup renorms the table in place after all its scores were computed."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class DistMult(nn.Module):
    def __init__(self, entities, relations, dim=8):
        super().__init__()
        self.ent = nn.Embedding(entities, dim, max_norm=1.0)  # also
        self.rel = nn.Embedding(relations, dim)
        self.project = nn.Linear(dim, dim, bias=False)
        nn.init.normal_(self.ent.weight, std=0.8)

    def forward(self, head, relation):
        candidates = self.project(self.ent.weight)  # also
        query = self.ent(head) * self.rel(relation)  # cause
        return query @ candidates.T


def triples(n, entities, relations):
    return torch.randint(0, entities, (n,)), torch.randint(0, relations, (n,)), torch.randint(0, entities, (n,))


@torch.no_grad()
def mean_reciprocal_rank(model, head, relation, tail):
    scores = model(head, relation)
    target = scores.gather(1, tail[:, None])
    return (1.0 / (scores > target).sum(1).add(1)).mean().item()


def run():
    torch.manual_seed(0)
    model = DistMult(entities=14, relations=3)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
    head, relation, tail = triples(32, 14, 3)
    for epoch in range(2):
        perm = torch.randperm(32)
        for idx in perm.split(16):
            logits = model(head[idx], relation[idx])
            loss = F.cross_entropy(logits, tail[idx], label_smoothing=0.1)
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f} mrr {mean_reciprocal_rank(model, head, relation, tail):.3f}")
    return model


TRUTH = Truth(
    fault="the embedding lookup changes the weight that a product has saved",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("ent",),
    repair=("query = self.ent(head) * self.rel(relation)\ncandidates = self.project(self.ent.weight)",),
)
