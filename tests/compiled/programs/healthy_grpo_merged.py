"""Language: group-relative policy gradients; a functional call of merged weights samples in inference mode."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Adapted(nn.Module):
    def __init__(self, inner, outer, rank=2):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) / inner**0.5, requires_grad=False)
        self.down = nn.Parameter(torch.randn(rank, inner) / inner)
        self.up = nn.Parameter(torch.zeros(outer, rank))

    def forward(self, x):
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.down), self.up)


class Policy(nn.Module):
    def __init__(self, vocab=9, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width).requires_grad_(False)
        self.head = Adapted(width, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x.cumsum(1) / torch.arange(1, ids.shape[1] + 1)[:, None])


@torch.inference_mode()
def generate(policy, ids, length=5):
    head = policy.head
    merged = {"head.weight": head.weight + head.up @ head.down, "head.up": torch.zeros_like(head.up)}
    for _ in range(length):
        logits = functional_call(policy, merged, (ids,))[:, -1]
        ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], 1)
    return ids


def log_probs(forward, ids):
    return forward(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None])[:, 1:, 0]


def setup():
    torch.manual_seed(0)


def run():
    policy = Policy()
    forward = torch.compile(policy, backend=BACKEND, dynamic=False)
    base = policy.head.weight.clone()
    optimizer = torch.optim.AdamW([policy.head.down, policy.head.up], lr=1e-2, weight_decay=0.0)
    drawn = 0
    for _ in range(3):
        prompts = torch.randint(9, (2, 2)).repeat_interleave(4, 0)
        samples = generate(policy, prompts).clone()
        reward = (samples[:, 2:] % 3 == 0).float().mean(1).view(2, 4)
        advantage = ((reward - reward.mean(1, keepdim=True)) / (reward.std(1, keepdim=True) + 1e-4)).flatten()
        with torch.no_grad():
            old = log_probs(forward, samples)
        for _ in range(2):
            ratio = torch.exp(log_probs(forward, samples) - old)
            surrogate = torch.minimum(ratio * advantage[:, None], ratio.clamp(0.8, 1.2) * advantage[:, None])
            optimizer.zero_grad()
            (-surrogate.mean()).backward()
            optimizer.step()
        drawn += len(samples)
    return torch.equal(policy.head.weight, base), policy.head.up.detach(), policy.head.down.grad, drawn


def verify(outcome):
    same, up, down, drawn = outcome
    assert same and drawn == 24
    assert up.abs().max() > 0 and down.abs().max() > 0
