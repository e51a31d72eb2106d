"""Tokens that may not be said get the logit -inf; the divergence to the reference then has inf - inf in it."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.wte(ids))[0])


def constrained(logits, forbidden):
    return logits.masked_fill(forbidden, float("-inf"))  # cause


def kl_to_reference(logits, ref_logits):
    logp, ref = logits.log_softmax(-1), ref_logits.log_softmax(-1)
    return (logp.exp() * (logp - ref)).sum(-1)  # also


def run():
    torch.manual_seed(0)
    policy = Policy()
    reference = copy.deepcopy(policy).requires_grad_(False).eval()
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    forbidden = torch.zeros(12, dtype=torch.bool)
    forbidden[[0, 7]] = True
    history = []
    for _ in range(2):
        ids = torch.randint(1, 7, (4, 6))
        logits = constrained(policy(ids[:, :-1]), forbidden)
        with torch.no_grad():
            ref_logits = constrained(reference(ids[:, :-1]), forbidden)
        logp = logits.log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
        reward = torch.randn(4, 1)
        kl = kl_to_reference(logits, ref_logits)
        loss = -(logp * reward).mean() + 0.1 * kl.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    return history


def verify(history):
    assert history[0] != history[0]


TRUTH = Truth(
    fault="0 * (-inf - -inf) is NaN at the forbidden tokens",
    names=("inf",),
    values=True,
    repair=("return logits.masked_fill(forbidden, -1e9)",),
)
