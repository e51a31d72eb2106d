"""Language: policy gradients with a compiled adapter model that generates its own samples between the updates."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="adapters are merged into the frozen base for generation and not taken out again: the base drifts",
    names=("merge", "unmerge", "base.weight"),
    repair=("samples = generate(policy, prompts); policy.adapter.unmerge()",),
)


class Adapted(nn.Module):
    def __init__(self, inner, outer, rank=2):
        super().__init__()
        self.base = nn.Linear(inner, outer).requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, inner) / inner)
        self.up = nn.Parameter(torch.randn(outer, rank) / rank)
        self.merged = False

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.up @ self.down
        self.merged = True

    @torch.no_grad()
    def unmerge(self):
        self.base.weight -= self.up @ self.down
        self.merged = False

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up)


class Policy(nn.Module):
    def __init__(self, vocab=9, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width).requires_grad_(False)
        self.adapter = Adapted(width, vocab)

    def forward(self, ids):
        return self.adapter(self.embed(ids).cumsum(1) / torch.arange(1, ids.shape[1] + 1)[:, None])

    def fast(self, ids):
        return self.adapter.base(self.embed(ids).mean(1))


@torch.no_grad()
def generate(policy, ids, length=5):
    policy.adapter.merge()
    for _ in range(length):
        ids = torch.cat([ids, torch.multinomial(policy.fast(ids).softmax(-1), 1)], 1)
    return ids


def setup():
    torch.manual_seed(0)


def run():
    policy = Policy()
    forward = torch.compile(policy, backend=BACKEND, dynamic=False)
    base = policy.adapter.base.weight.clone()
    optimizer = torch.optim.AdamW([p for p in policy.parameters() if p.requires_grad], lr=1e-2)
    drift = []
    for _ in range(4):
        prompts = torch.randint(9, (2, 2)).repeat_interleave(4, 0)
        samples = generate(policy, prompts)  # cause
        reward = (samples[:, 2:] % 3 == 0).float().mean(1).view(2, 4)
        advantage = (reward - reward.mean(1, keepdim=True)).flatten()
        logp = forward(samples[:, :-1]).log_softmax(-1).gather(2, samples[:, 1:, None])[:, 1:, 0]  # symptom
        loss = -(advantage[:, None] * logp).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        drift.append((policy.adapter.base.weight - base).abs().max().item())
    return drift


def verify(outcome):
    assert outcome[-1] > outcome[0] > 1e-3
