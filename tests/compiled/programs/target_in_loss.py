"""The target network is called with grad in a compiled TD loss."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG109"
NAMES = ()


def setup():
    global q, target, opt, td, batch
    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    batch = torch.randn(6, 4), torch.randint(0, 2, (6, 1)), torch.randn(6, 1), torch.randn(6, 4)

    @torch.compile(backend=BACKEND)
    def td(s, a, r, s2):
        now = q(s).gather(1, a)
        nxt = target(s2).max(1, keepdim=True).values  # cause
        return F.mse_loss(now, r + 0.99 * nxt)


def run():
    for _ in range(2):
        opt.zero_grad()
        td(*batch).backward()
        opt.step()
        with torch.no_grad():
            for p, t in zip(q.parameters(), target.parameters()):
                t.lerp_(p, 0.01)
