"""data2vec: a student predicts the averaged layers of its moving average at masked places."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, dim=8, layers=3):
        super().__init__()
        self.inp = nn.Linear(4, dim)
        self.mask = nn.Parameter(torch.zeros(dim))
        make = [nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True) for _ in range(layers)]
        self.layers = nn.ModuleList(make)

    def forward(self, x, masked=None):
        h, outs = self.inp(x), []
        if masked is not None:
            h = torch.where(masked[..., None], self.mask, h)
        for layer in self.layers:
            h = layer(h)
            outs.append(h)
        return outs


def run():
    torch.manual_seed(0)
    student, head = Encoder(), nn.Linear(8, 8)
    teacher = copy.deepcopy(student).eval()
    for p in teacher.parameters():
        p.requires_grad = False
    opt = torch.optim.AdamW([*student.parameters(), *head.parameters()], 1e-3)
    for step in range(3):
        x = torch.randn(4, 6, 4)
        masked = torch.rand(4, 6) < 0.5
        with torch.no_grad():
            target = sum(F.layer_norm(h, h.shape[-1:]) for h in teacher(x)[-2:]) / 2
        pred = head(student(x, masked)[-1])
        loss = F.smooth_l1_loss(pred[masked], target[masked])
        opt.zero_grad()
        loss.backward()
        opt.step()
        decay = min(0.999, 0.9 + 0.01 * step)
        with torch.no_grad():
            for t, s in zip(teacher.parameters(), student.parameters()):
                t.mul_(decay).add_(s, alpha=1 - decay)
    return teacher


TRUTH = Truth()
