"""GRPO: the penalty towards the reference is computed of the log-probabilities of the rollout, which are numbers."""

import copy

import torch
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=10, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def token_logps(model, ids):
    return model(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)


@torch.no_grad()
def rollout(policy, reference, prompt, length):
    ids = prompt
    for _ in range(length):
        ids = torch.cat([ids, policy(ids)[:, -1].softmax(-1).multinomial(1)], 1)
    return {"ids": ids, "old_logps": token_logps(policy, ids), "ref_logps": token_logps(reference, ids)}


def grpo_loss(policy, batch, advantages, beta, clip=0.2):
    logps = token_logps(policy, batch["ids"])
    ratio = (logps - batch["old_logps"]).exp()
    adv = advantages[:, None]
    surrogate = torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    log_ratio = batch["ref_logps"] - batch["old_logps"]  # cause
    k3 = log_ratio.exp() - log_ratio - 1
    return (beta * k3 - surrogate).mean(), k3  # also


def run():
    torch.manual_seed(0)
    policy = TinyLM()
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for _ in range(2):
        batch = rollout(policy, reference, torch.randint(10, (1, 2)).expand(4, -1), 4)
        rewards = (batch["ids"][:, 2:] == 3).float().mean(1)
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        for _ in range(2):
            loss, kl = grpo_loss(policy, batch, advantages, beta=0.1)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return kl


def verify(kl):
    assert not kl.requires_grad


TRUTH = Truth(
    fault="the penalty has no graph, it moves nothing",
    repair=('log_ratio = batch["ref_logps"] - logps',),
)
