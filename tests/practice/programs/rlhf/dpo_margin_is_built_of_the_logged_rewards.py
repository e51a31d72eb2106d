"""DPO with a likelihood term: the margin is built of the rewards that were detached for the log."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def sequence_logps(model, ids):
    return model(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2).sum(-1)


class DPOTrainer:
    def __init__(self, policy, beta=0.1, sft=0.2):
        self.policy, self.beta, self.sft = policy, beta, sft
        self.reference = copy.deepcopy(policy).requires_grad_(False).eval()
        self.log = []

    def rewards(self, ids):
        logps = sequence_logps(self.policy, ids)
        with torch.no_grad():
            ref = sequence_logps(self.reference, ids)
        return self.beta * (logps - ref).detach(), logps  # cause

    def loss(self, chosen, rejected):
        chosen_rewards, chosen_logps = self.rewards(chosen)
        rejected_rewards, _ = self.rewards(rejected)
        self.log.append((chosen_rewards > rejected_rewards).float().mean().item())
        preference = -F.logsigmoid(chosen_rewards - rejected_rewards).mean()  # also
        return preference - self.sft * chosen_logps.mean() / chosen.size(1), preference


def run():
    torch.manual_seed(0)
    trainer = DPOTrainer(TinyLM())
    opt = torch.optim.RMSprop(trainer.policy.parameters(), lr=1e-3)
    for _ in range(3):
        loss, preference = trainer.loss(torch.randint(12, (4, 6)), torch.randint(12, (4, 6)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return preference


def verify(preference):
    assert not preference.requires_grad


TRUTH = Truth(
    fault="the preference term has no graph; only the likelihood is trained",
    names=("detach",),
    repair=("return self.beta * (logps - ref), logps",),
)
