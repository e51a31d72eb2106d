"""GRPO: the KL estimate is computed under the no_grad meant for the reference, the penalty is a number without gradient."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.mix(self.embed(ids))[0])


def logprobs(model, ids):
    logp = F.log_softmax(model(ids[:, :-1]), -1)
    return logp.gather(-1, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def generate(model, prompts, group=4, length=5):
    ids = prompts.repeat_interleave(group, 0)
    for _ in range(length):
        ids = torch.cat([ids, torch.multinomial(model(ids)[:, -1].softmax(-1), 1)], 1)
    return ids


def reward(ids, prompt_len):
    return (ids[:, prompt_len:] < 7).float().sum(1)


def group_advantage(r, group):
    r = r.view(-1, group)
    return ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).flatten()


class GRPO:
    def __init__(self, policy, beta=0.04, clip=0.2, group=4, lr=5e-3, iterations=2):
        self.policy, self.beta, self.clip, self.group, self.iterations = policy, beta, clip, group, iterations
        self.reference = copy.deepcopy(policy).requires_grad_(False).eval()
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=lr, weight_decay=0.0)

    def terms(self, ids, old, adv, start):
        logp = logprobs(self.policy, ids)[:, start:]
        with torch.no_grad():
            ref = logprobs(self.reference, ids)[:, start:]
            kl = torch.exp(ref - logp) - (ref - logp) - 1  # cause
        ratio = torch.exp(logp - old)
        surrogate = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv)
        return surrogate.mean(), kl.mean()

    def step(self, prompts):
        ids, start = generate(self.policy, prompts, self.group), prompts.size(1) - 1
        adv = group_advantage(reward(ids, prompts.size(1)), self.group).unsqueeze(1)
        with torch.no_grad():
            old = logprobs(self.policy, ids)[:, start:]
        for _ in range(self.iterations):
            surrogate, kl = self.terms(ids, old, adv, start)
            loss = -surrogate + self.beta * kl
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
            self.optimizer.step()
        return kl


def run():
    torch.manual_seed(0)
    trainer = GRPO(TinyLM())
    return [trainer.step(torch.randint(0, 20, (3, 4))) for _ in range(2)]


def verify(kls):
    assert kls[-1].item() > 0
    assert not any(kl.requires_grad for kl in kls)


TRUTH = Truth(
    fault="the KL term is computed inside no_grad: it enters the loss as a constant",
    names=("kl",),
    repair=("with torch.enable_grad():\n    kl = torch.exp(ref - logp) - (ref - logp) - 1",),
)
