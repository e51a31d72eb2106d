"""PPO for text with a frozen reference, old values kept, shared trunk, and updates skipped when the KL grows: healthy."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ActorCriticLM(nn.Module):
    def __init__(self, vocab=22, dim=16):
        super().__init__()
        self.embed, self.trunk = nn.Embedding(vocab, dim), nn.GRU(dim, dim, batch_first=True)
        self.lm_head, self.v_head = nn.Linear(dim, vocab), nn.Linear(dim, 1)

    def forward(self, ids):
        h, _ = self.trunk(self.embed(ids))
        return self.lm_head(h), self.v_head(h).squeeze(-1)


def evaluate(model, ids, start):
    logits, values = model(ids[:, :-1])
    logp_all = F.log_softmax(logits, -1)
    logp = logp_all.gather(-1, ids[:, 1:, None]).squeeze(-1)
    entropy = -(logp_all.exp() * logp_all).sum(-1)
    return logp[:, start:], values[:, start:], entropy[:, start:]


@torch.no_grad()
def rollout(model, prompts, length=6):
    ids = prompts
    for _ in range(length):
        ids = torch.cat([ids, torch.multinomial(model(ids)[0][:, -1].softmax(-1), 1)], 1)
    return ids


def gae(rewards, values, gamma=1.0, lam=0.95):
    advantages, running = [], torch.zeros(len(rewards))
    nxt = torch.zeros(len(rewards))
    for t in reversed(range(rewards.size(1))):
        delta = rewards[:, t] + gamma * nxt - values[:, t]
        running = delta + gamma * lam * running
        nxt = values[:, t]
        advantages.append(running)
    return torch.stack(advantages[::-1], 1)


class PPO:
    def __init__(self, policy, lr=3e-2, kl_coef=0.1, target_kl=0.05, epochs=4):
        self.policy, self.reference = policy, copy.deepcopy(policy).eval().requires_grad_(False)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr, eps=1e-5)
        self.kl_coef, self.target_kl, self.epochs = kl_coef, target_kl, epochs
        self.updates, self.skipped = 0, 0

    def step(self, prompts):
        start = prompts.size(1) - 1
        ids = rollout(self.policy, prompts)
        with torch.no_grad():
            old_logp, old_values, _ = evaluate(self.policy, ids, start)
            ref_logp, _, _ = evaluate(self.reference, ids, start)
            rewards = -self.kl_coef * (old_logp - ref_logp)
            rewards[:, -1] += (ids[:, prompts.size(1) :] < 8).float().mean(1)
            adv = gae(rewards, old_values)
            returns = adv + old_values
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(self.epochs):
            logp, values, entropy = evaluate(self.policy, ids, start)
            log_ratio = logp - old_logp
            ratio = log_ratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - log_ratio).mean()
            if approx_kl > self.target_kl:
                self.skipped += 1
                break
            surrogate = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            clipped = old_values + (values - old_values).clamp(-0.2, 0.2)
            v_loss = torch.max((values - returns).square(), (clipped - returns).square()).mean()
            self.optimizer.zero_grad()
            (-surrogate + 0.5 * v_loss - 0.01 * entropy.mean()).backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.optimizer.step()
            self.updates += 1


def run():
    torch.manual_seed(0)
    policy = ActorCriticLM()
    ppo = PPO(policy)
    before = [p.detach().clone() for p in policy.parameters()]
    for _ in range(3):
        ppo.step(torch.randint(0, 22, (6, 3)))
    reference = list(ppo.reference.parameters())
    return before, list(policy.parameters()), reference, ppo.updates, ppo.skipped


def verify(outcome):
    before, policy, reference, updates, skipped = outcome
    assert all(torch.equal(b, r) for b, r in zip(before, reference))
    assert all(not torch.equal(b, p) for b, p in zip(before, policy)) and updates >= 3 and skipped >= 1


TRUTH = Truth()
