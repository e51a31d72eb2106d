"""Additive angular margin for speaker embeddings, prototypes enrolled from the first utterances: training ends in NaN."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class StatsPooling(nn.Module):
    def forward(self, x):
        return torch.cat([x.mean(-1), x.var(-1).clamp(min=1e-5).sqrt()], dim=1)


class XVector(nn.Module):
    def __init__(self, n_mels=10, dim=8):
        super().__init__()
        self.frames = nn.Sequential(nn.Conv1d(n_mels, 16, 3), nn.ReLU(), nn.Conv1d(16, 16, 3, dilation=2), nn.ReLU())
        self.pool = StatsPooling()
        self.embed = nn.Linear(32, dim)

    def forward(self, feats):
        return self.embed(self.pool(self.frames(feats)))


class AAMSoftmax(nn.Module):
    def __init__(self, dim, speakers, margin=0.2, scale=30.0):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(speakers, dim))
        nn.init.xavier_normal_(self.weight)
        self.scale = scale
        self.cos_m, self.sin_m = math.cos(margin), math.sin(margin)

    @torch.no_grad()
    def enroll(self, embeddings):
        self.weight.copy_(F.normalize(embeddings))

    def forward(self, x, label):
        cosine = F.linear(F.normalize(x), F.normalize(self.weight)).clamp(-1, 1)
        sine = torch.sqrt(1.0 - cosine.pow(2))  # cause
        phi = cosine * self.cos_m - sine * self.sin_m
        one_hot = F.one_hot(label, len(self.weight)).to(phi.dtype)
        return F.cross_entropy(self.scale * (one_hot * phi + (1 - one_hot) * cosine), label)


def run():
    torch.manual_seed(0)
    utterances, speakers = torch.randn(6, 10, 24), torch.arange(6)
    net = XVector()
    head = AAMSoftmax(8, 6)
    head.enroll(net(utterances))
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01, momentum=0.9)
    losses = []
    for epoch in range(3):
        loss = head(net(utterances), speakers)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        losses.append(loss.item())
        print(f"epoch {epoch}: aam {losses[-1]:.4f}")
    return losses


def verify(losses):
    assert math.isfinite(losses[0]) and math.isnan(losses[-1])


TRUTH = Truth(
    values=True,
    fault="the root's derivative is infinite where an embedding lies on its prototype: 0 * inf is NaN",
    names=("sqrt",),
    repair=("sine = torch.sqrt((1.0 - cosine.pow(2)).clamp(min=1e-6))",),
)
