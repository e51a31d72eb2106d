"""PPO of a language model with a value head on the same trunk: numbers for the rollout, several epochs, adaptive KL."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self, vocab=10, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head, self.value = nn.Linear(dim, vocab), nn.Linear(dim, 1)

    def forward(self, ids):
        h = self.rnn(self.embed(ids))[0]
        return self.head(h), self.value(h).squeeze(-1)


def evaluate(model, ids):
    logits, values = model(ids[:, :-1])
    logp = logits.log_softmax(-1)
    return logp.gather(2, ids[:, 1:, None]).squeeze(2), values, -(logp.exp() * logp).sum(-1)


def gae(rewards, values, gamma=1.0, lam=0.95):
    last, out = torch.zeros(len(rewards)), []
    for t in reversed(range(rewards.size(1))):
        following = values[:, t + 1] if t + 1 < rewards.size(1) else 0.0
        last = rewards[:, t] + gamma * following - values[:, t] + gamma * lam * last
        out.append(last)
    return torch.stack(out[::-1], 1)


def run():
    torch.manual_seed(0)
    policy = ActorCritic()
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    beta, kls = 0.1, []
    for _ in range(2):
        with torch.no_grad():
            ids = torch.randint(10, (6, 2))
            for _ in range(4):
                ids = torch.cat([ids, policy(ids)[0][:, -1].softmax(-1).multinomial(1)], 1)
            old, old_values, _ = evaluate(policy, ids)
            kl = old - evaluate(reference, ids)[0]
            rewards = -beta * kl
            rewards[:, -1] += (ids == 3).float().sum(1)
            advantages = gae(rewards, old_values)
            returns = advantages + old_values
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(2):
            for rows in torch.randperm(6).split(3):
                logp, values, entropy = evaluate(policy, ids[rows])
                ratio = (logp - old[rows]).exp()
                adv = advantages[rows]
                pg = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
                clipped = old_values[rows] + (values - old_values[rows]).clamp(-0.2, 0.2)
                vf = 0.5 * torch.max((values - returns[rows]) ** 2, (clipped - returns[rows]) ** 2).mean()
                opt.zero_grad()
                (pg + 0.5 * vf - 0.01 * entropy.mean()).backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                opt.step()
        kls.append(kl.sum(1).mean().item())
        beta *= 1 + 0.1 * max(-0.2, min(0.2, kls[-1] / 6 - 1))
    return policy, kls


def verify(out):
    assert out[1][0] == 0 and out[1][1] != 0


TRUTH = Truth()
