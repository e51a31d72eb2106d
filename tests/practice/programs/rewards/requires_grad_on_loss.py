"""Reward model: "does not require grad" was silenced with loss.requires_grad_(True); the loss is a count without a graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RewardModel(nn.Module):
    def __init__(self, vocab=25, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Linear(dim, 1)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.score(h[:, -1]).squeeze(-1)


def preference_pairs(n):
    chosen = torch.randint(25, (n, 6))
    rejected = torch.randint(25, (n, 6))
    better = chosen.sum(1) > rejected.sum(1)
    return torch.where(better[:, None], chosen, rejected), torch.where(better[:, None], rejected, chosen)


def ranking_loss(margin):
    """Share of the pairs in the wrong order."""
    return (margin < 0).float().mean()  # cause


class RewardTrainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
        self.log = []

    def step(self, chosen, rejected):
        margin = self.model(chosen) - self.model(rejected)
        loss = ranking_loss(margin)
        if not loss.requires_grad:
            loss.requires_grad_(True)  # also
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.log.append({"loss": loss.item(), "accuracy": (margin > 0).float().mean().item()})


def run():
    torch.manual_seed(0)
    model = RewardModel()
    trainer = RewardTrainer(model)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    pairs = preference_pairs(32)
    for _ in range(4):
        trainer.step(*pairs)
    return before, model.state_dict()


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(before[k], after[k]) for k in before)


TRUTH = Truth(
    fault="a comparison has no gradient; the loss is a leaf by requires_grad_ and reaches no parameter",
    names=("requires_grad_",),
    repair=("return F.softplus(-margin).mean()",),
)
