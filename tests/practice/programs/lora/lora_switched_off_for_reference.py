"""DPO with LoRA by hand: the reference is the same model with its adapters switched off, under no_grad."""

import contextlib

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LoRA(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base, self.on = base, True
        self.A, self.B = nn.Parameter(torch.randn(r, base.in_features)), nn.Parameter(torch.zeros(base.out_features, r))
        for p in base.parameters():
            p.requires_grad = False

    def forward(self, x):
        out = self.base(x)
        return out + F.linear(F.linear(x, self.A), self.B) if self.on else out


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8).requires_grad_(False)
        self.up, self.head = LoRA(nn.Linear(8, 8)), nn.Linear(8, 12).requires_grad_(False)

    @contextlib.contextmanager
    def reference(self):
        self.up.on = False
        try:
            yield self
        finally:
            self.up.on = True

    def forward(self, ids):
        logits = self.head(torch.relu(self.up(self.embed(ids))))
        return logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).sum((1, 2))


def run():
    torch.manual_seed(0)
    model = LM()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    for _ in range(3):
        good, bad = torch.randint(12, (4, 5)), torch.randint(12, (4, 5))
        with torch.no_grad(), model.reference() as ref:
            ref_good, ref_bad = ref(good), ref(bad)
        margin = (model(good) - ref_good) - (model(bad) - ref_bad)
        loss = -F.logsigmoid(0.1 * margin).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()


TRUTH = Truth()
