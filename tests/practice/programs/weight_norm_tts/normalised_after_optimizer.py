"""Vocoder: weight_norm is put on after the optimizer was made; the new g and v are in no optimizer."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


class Vocoder(nn.Module):
    def __init__(self, mels=6, hop=4):
        super().__init__()
        self.pre = nn.Conv1d(mels, 12, 3, padding=1)
        self.up = nn.ConvTranspose1d(12, 8, hop, stride=hop)
        self.post = nn.Conv1d(8, 1, 3, padding=1)

    def apply_weight_norm(self):
        for module in (self.pre, self.up, self.post):
            weight_norm(module)
        return self

    def forward(self, mel):
        h = F.leaky_relu(self.pre(mel), 0.1)
        return torch.tanh(self.post(F.leaky_relu(self.up(h), 0.1))).squeeze(1)


def tones(n, frames=6):
    pitch = torch.rand(n, 1)
    t = torch.arange(4 * frames) / 8
    mel = torch.exp(-(((torch.arange(6)[None, :, None] / 6 - pitch[:, :, None]) * 4) ** 2))
    return mel.expand(-1, -1, frames).contiguous(), torch.sin(2 * torch.pi * (1 + pitch) * t)


class Task:
    """Model, optimizer and, at the start of fitting, the normalisation: in the order of the framework's call-backs."""

    def __init__(self):
        self.model = Vocoder()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.model.parameters(), lr=5e-3, betas=(0.8, 0.99))

    def on_fit_start(self):
        self.model.apply_weight_norm()

    def loss(self, mel, wave):
        out = self.model(mel)
        return F.l1_loss(out, wave) + F.l1_loss(out.diff(dim=1), wave.diff(dim=1))


def fit(task, batches):
    optimizer = task.configure_optimizers()  # cause
    task.on_fit_start()  # also
    start = {k: p.detach().clone() for k, p in task.model.named_parameters()}
    for batch in batches:
        loss = task.loss(*batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {k: not torch.equal(start[k], p) for k, p in task.model.named_parameters()}


def run():
    torch.manual_seed(0)
    return fit(Task(), [tones(8) for _ in range(4)])


def verify(outcome):
    assert not any(moved for k, moved in outcome.items() if "original" in k)
    assert any(outcome.values())


TRUTH = Truth(
    fault="weight_norm replaces weight by original0 and original1, which the optimizer never got; only the biases learn",
    names=("weight",),
    repair=("task.on_fit_start()\ntask.on_fit_start = lambda: None\noptimizer = task.configure_optimizers()",),
)
