"""Dialogue model: hard negatives are mined under no_grad inside the autocast region of the training pass. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class UtteranceEncoder(nn.Module):
    def __init__(self, vocab=40, dim=16):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.project = nn.Linear(dim, dim)

    def forward(self, ids):
        return torch.tanh(self.project(self.embed(ids)))


class ReplyRanker(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = UtteranceEncoder()
        self.match = nn.Linear(16, 16, bias=False)

    def scores(self, context, replies):
        return self.match(self.encoder(context)) @ self.encoder(replies).t()


@torch.no_grad()
def hardest_negative(model, context, replies):
    """Index of the best-scored wrong reply of each context."""
    scores = model.encoder(context) @ model.encoder(replies).t()
    scores.fill_diagonal_(float("-inf"))
    return scores.argmax(1)


def ranking_loss(scores, hard):
    positive = scores.diagonal()
    negative = scores.gather(1, hard[:, None]).squeeze(1)
    return F.softplus(1 + negative - positive).mean()


def train_step(model, optimizer, context, replies):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hard = hardest_negative(model, context, replies)
        scores = model.scores(context, replies)
    loss = ranking_loss(scores.float(), hard)
    loss.backward()
    optimizer.step()


def run():
    torch.manual_seed(0)
    model = ReplyRanker()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    context = torch.randint(40, (12, 6))
    replies = (context + 1) % 40
    start = model.encoder.project.weight.detach().clone()
    for _ in range(3):
        train_step(model, optimizer, context, replies)
    return start, model.encoder.project.weight.detach(), model.encoder.project.weight.grad


def verify(outcome):
    start, now, grad = outcome
    assert grad is not None and grad.abs().sum() > 0
    assert not torch.equal(start, now)


TRUTH = Truth()
