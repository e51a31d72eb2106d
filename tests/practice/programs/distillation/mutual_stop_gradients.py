"""Two students teach each other: each soft loss detaches the other's logits; a frozen teacher helps both."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def soft(student, teacher):
    return F.kl_div(F.log_softmax(student / 2, 1), F.softmax(teacher.detach() / 2, 1), reduction="batchmean")


def run():
    torch.manual_seed(0)
    teacher = nn.Linear(8, 4).requires_grad_(False).eval()
    a, b = nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))
    opt_a, opt_b = torch.optim.SGD(a.parameters(), 0.05), torch.optim.SGD(b.parameters(), 0.05)
    for _ in range(3):
        x, y = torch.randn(16, 8), torch.randint(4, (16,))
        s, t, z = a(x), b(x), teacher(x)
        loss_a = F.cross_entropy(s, y) + soft(s, t) + soft(s, z)
        loss_b = F.cross_entropy(t, y) + soft(t, s) + soft(t, z)
        opt_a.zero_grad()
        loss_a.backward()
        opt_a.step()
        opt_b.zero_grad()
        loss_b.backward()
        opt_b.step()
    return a, b


TRUTH = Truth()
