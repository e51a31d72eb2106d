"""PPO on token sequences: reference by a frozen copy, rewards with a KL penalty, whitened advantages."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=10, dim=8):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(vocab, dim), nn.GRU(dim, dim, batch_first=True)
        self.lm_head, self.v_head = nn.Linear(dim, vocab, bias=False), nn.Linear(dim, 1)
        self.lm_head.weight = self.embed.weight

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.lm_head(h), self.v_head(h).squeeze(-1)


def logprobs(logits, ids):
    return logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)


def gae(rewards, values, gamma=1.0, lam=0.95):
    last, out = torch.zeros(rewards.shape[0]), []
    for t in reversed(range(rewards.shape[1])):
        nxt = values[:, t + 1] if t + 1 < rewards.shape[1] else torch.zeros(rewards.shape[0])
        last = rewards[:, t] + gamma * nxt - values[:, t] + gamma * lam * last
        out.insert(0, last)
    return torch.stack(out, 1)


def run():
    torch.manual_seed(0)
    model = LM()
    ref = copy.deepcopy(model).eval()
    for p in ref.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        with torch.no_grad():
            ids = torch.randint(10, (3, 1))
            for _ in range(5):
                ids = torch.cat([ids, model(ids)[0][:, -1].softmax(-1).multinomial(1)], 1)
            logits, values = model(ids)
            old = logprobs(logits, ids)
            rewards = -0.1 * (old - logprobs(ref(ids)[0], ids))
            rewards[:, -1] += (ids == 3).float().mean(1)
            values = values[:, :-1]
            adv = gae(rewards, values)
            returns = adv + values
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(2):
            for rows in torch.randperm(3).split(2):
                logits, v = model(ids[rows])
                ratio = (logprobs(logits, ids[rows]) - old[rows]).exp()
                pg = torch.max(-adv[rows] * ratio, -adv[rows] * ratio.clamp(0.8, 1.2)).mean()
                v = v[:, :-1]
                vc = torch.clamp(v, values[rows] - 0.2, values[rows] + 0.2)
                vf = torch.max((v - returns[rows]) ** 2, (vc - returns[rows]) ** 2).mean()
                loss = pg + 0.1 * vf
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    return F.softmax(logits, -1)


TRUTH = Truth()
