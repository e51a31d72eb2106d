"""The learned temperature of a compiled contrastive loss goes through item()."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ()


@torch.compile(backend=BACKEND)
def contrastive(a, b, temperature):
    logits = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T
    logits = logits * temperature.exp().item()  # cause
    target = torch.arange(len(a))
    return F.cross_entropy(logits, target)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(8, 4)
        self.text = nn.Linear(6, 4)
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def forward(self, i, t):
        return contrastive(self.image(i), self.text(t), self.temperature)


def setup():
    global model, opt, i, t
    torch.manual_seed(0)
    model = Clip()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0)
    i, t = torch.randn(5, 8), torch.randn(5, 6)


def run():
    for _ in range(3):
        opt.zero_grad()
        model(i, t).backward()
        opt.step()
