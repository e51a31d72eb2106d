"""KTO: the baseline is an estimate of the divergence, a number; wanted and unwanted answers are weighted."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.mlp(h))


def logps(model, ids, mask):
    per_token = model(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return (per_token * mask[:, 1:]).sum(1)


def kto_loss(policy, reference, ids, mask, wanted, beta=0.1):
    mismatched = ids.roll(1, 0)
    with torch.no_grad():
        ref = logps(reference, ids, mask)
        baseline = (logps(policy, mismatched, mask) - logps(reference, mismatched, mask)).mean().clamp(min=0)
    margin = beta * (logps(policy, ids, mask) - ref)
    good = 1 - torch.sigmoid(margin - beta * baseline)
    bad = 1 - torch.sigmoid(beta * baseline - margin)
    return torch.where(wanted, good, 1.5 * bad).mean(), margin.detach()


def run():
    torch.manual_seed(0)
    policy = LM()
    reference = copy.deepcopy(policy)
    reference.requires_grad_(False)
    opt = torch.optim.RMSprop(policy.parameters(), lr=1e-2)
    rewards = []
    for _ in range(3):
        ids = torch.randint(12, (4, 8))
        mask = torch.ones_like(ids)
        mask[:, :3] = 0
        loss, margin = kto_loss(policy, reference, ids, mask, torch.tensor([True, False, True, False]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        rewards.append(margin.tolist())
    return rewards


def verify(rewards):
    assert rewards[0] == [0.0] * 4 and rewards[2] != rewards[0]


TRUTH = Truth()
