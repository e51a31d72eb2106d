"""Queries are encoded without a graph to mine hard negatives, and the same vectors go into the loss."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=10):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.ff = nn.Sequential(nn.Linear(dim, 20), nn.GELU(), nn.Linear(20, dim))

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        pooled = (self.embed(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.ff(pooled)


class DPR(nn.Module):
    def __init__(self):
        super().__init__()
        self.question, self.passage = Encoder(), Encoder()

    def mine(self, questions, corpus, k):
        with torch.no_grad():  # cause
            q = self.question(questions)  # also
            hard = (q @ self.passage(corpus).T).topk(k, -1).indices
        return q, hard

    def forward(self, questions, positives, corpus):
        q, hard = self.mine(questions, corpus, k=2)
        pos = self.passage(positives)
        neg = self.passage(corpus[hard.flatten()]).view(len(q), 2, -1)
        in_batch = q @ pos.T
        scores = torch.cat([in_batch, torch.einsum("bd,bkd->bk", q, neg)], 1)  # also
        return F.cross_entropy(scores, torch.arange(len(q)))


def run():
    torch.manual_seed(0)
    model = DPR()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, total_iters=3)
    for _ in range(3):
        loss = model(torch.randint(1, 30, (4, 5)), torch.randint(1, 30, (4, 8)), torch.randint(1, 30, (9, 8)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    return model


def verify(model):
    assert model.question.ff[0].weight.grad is None


TRUTH = Truth(
    fault="the question encoder gets no gradient",
    names=("no_grad",),
    repair=("with torch.enable_grad():",),
)
