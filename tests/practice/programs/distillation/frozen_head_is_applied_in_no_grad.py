"""A draft model shares the target's frozen head, and applies it in no_grad: its likelihood term has no graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Target(nn.Module):
    def __init__(self, vocab=14, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, 2, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def features(self, ids):
        return self.rnn(self.embed(ids))[0]


class Draft(nn.Module):
    def __init__(self, target, dim=8):
        super().__init__()
        self.target = [target]
        self.fuse = nn.Linear(2 * dim, dim)
        self.layer = nn.GRU(dim, dim, batch_first=True)

    def forward(self, features, ids):
        x = torch.cat([features, self.target[0].embed(ids)], -1)
        return self.layer(self.fuse(x))[0]


def draft_loss(draft, target, ids):
    with torch.no_grad():
        features = target.features(ids)
        teacher = target.lm_head(features[:, 1:]).softmax(-1)
    predicted = draft(features[:, :-1], ids[:, 1:])
    with torch.no_grad():  # cause
        logits = target.lm_head(predicted)
    likelihood = -(teacher * logits.log_softmax(-1)).sum(-1).mean()  # also
    return F.smooth_l1_loss(predicted, features[:, 1:]) + 0.1 * likelihood, likelihood


def run():
    torch.manual_seed(0)
    target = Target().eval().requires_grad_(False)
    draft = Draft(target)
    opt = torch.optim.AdamW(draft.parameters(), lr=1e-3)
    for _ in range(3):
        loss, likelihood = draft_loss(draft, target, torch.randint(14, (4, 7)))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(draft.parameters(), 0.5)
        opt.step()
    return likelihood


def verify(likelihood):
    assert not likelihood.requires_grad


TRUTH = Truth(
    fault="the likelihood term has no graph",
    names=("no_grad",),
    repair=("if True:",),
)
