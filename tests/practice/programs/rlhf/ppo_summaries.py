"""PPO on sampled answers: the old log-probabilities are recomputed with the policy of the moment, ratio is always one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Policy(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)
        self.v_head = nn.Linear(dim, 1)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.lm_head(h), self.v_head(h.detach()).squeeze(-1)


def token_logprobs(logits, ids):
    return F.log_softmax(logits, -1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)


@torch.no_grad()
def rollout(policy, prompts, length=5):
    ids = prompts
    for _ in range(length):
        logits, _ = policy(ids)
        ids = torch.cat([ids, torch.multinomial(logits[:, -1].softmax(-1), 1)], dim=1)
    return ids


def reward_model(ids):
    return (ids[:, 3:] % 2 == 0).float().mean(1)


class PPOTrainer:
    def __init__(self, policy, lr=1e-2, clip=0.2, epochs=2, vf_coef=0.1):
        self.policy, self.clip, self.epochs, self.vf_coef = policy, clip, epochs, vf_coef
        self.opt = torch.optim.Adam(policy.parameters(), lr=lr)

    def minibatch_loss(self, ids, returns, start):
        logits, values = self.policy(ids[:, :-1])
        logprobs = token_logprobs(logits, ids[:, 1:])[:, start:]
        old_logprobs = token_logprobs(logits, ids[:, 1:])[:, start:]  # cause
        values = values[:, start:]
        adv = returns.unsqueeze(1) - values.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        ratio = torch.exp(logprobs - old_logprobs)
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv)
        v_loss = F.mse_loss(values, returns.unsqueeze(1).expand_as(values))
        return -surrogate.mean() + self.vf_coef * v_loss

    def step(self, prompts):
        ids = rollout(self.policy, prompts)
        returns = reward_model(ids)
        for _ in range(self.epochs):
            loss = self.minibatch_loss(ids, returns, start=prompts.size(1) - 1)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


def run():
    torch.manual_seed(0)
    policy = Policy()
    trainer = PPOTrainer(policy)
    before = policy.lm_head.weight.detach().clone()
    for _ in range(2):
        trainer.step(torch.randint(0, 24, (8, 3)))
    return before, policy.lm_head.weight.detach(), policy.lm_head.weight.grad, policy.v_head.weight.grad


def verify(outcome):
    before, after, policy_grad, value_grad = outcome
    assert policy_grad.abs().max() < 1e-7 < value_grad.abs().max()


TRUTH = Truth(
    fault="old_logprobs is a function of the same logits: log ratio is zero with a gradient of zero",
    names=("lm_head", "rnn", "embed"),
    repair=("old_logprobs = token_logprobs(logits, ids[:, 1:])[:, start:].detach()",),
)
