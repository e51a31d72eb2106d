"""GRPO: all answers of a group get the same reward, 0 / 0 makes the advantages NaN and the policy with them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyPolicy(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])

    @torch.no_grad()
    def generate(self, prompt, length):
        ids = prompt
        for _ in range(length):
            token = torch.distributions.Categorical(logits=self(ids)[:, -1]).sample()
            ids = torch.cat([ids, token[:, None]], 1)
        return ids

    def log_probs(self, ids, start):
        logits = self(ids[:, :-1])[:, start - 1 :]
        return -F.cross_entropy(logits.transpose(1, 2), ids[:, start:], reduction="none")


def verifier(ids, start):
    """One point if the answer holds token 0, the rest is nothing; a hard task has groups without any point."""
    hits = (ids[:, start:] == 0).any(1).float()
    hits[ids[:, 0] == 11] = 0.0
    return hits


def advantages(rewards, group):
    r = rewards.view(-1, group)
    return ((r - r.mean(1, keepdim=True)) / r.std(1, keepdim=True)).flatten()  # cause


def run():
    torch.manual_seed(0)
    policy = TinyPolicy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-3)
    prompts = torch.tensor([[1, 2], [3, 4], [11, 5]]).repeat_interleave(6, 0)
    sane = []
    for _ in range(2):
        ids = policy.generate(prompts, 5) if all(sane) else torch.randint(12, (18, 7))
        adv = advantages(verifier(ids, 2), group=6)
        logp = policy.log_probs(ids, 2)
        ratio = (logp - logp.detach()).exp()
        loss = -(ratio * adv[:, None]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        sane.append(all(bool(torch.isfinite(p).all()) for p in policy.parameters()))
    return sane


def verify(outcome):
    assert outcome == [False, False]


TRUTH = Truth(
    fault="a standard deviation of zero: the advantages are NaN",
    values=True,
    names=("std",),
    repair=("return ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).flatten()",),
)
