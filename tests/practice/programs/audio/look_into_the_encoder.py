"""Audio: a forward hook is to record an activation for the log, but a lambda returns what it appended: the detached one."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Subsampling(nn.Module):
    def __init__(self, mels, dim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(mels, dim, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, mel):
        return self.conv(mel).transpose(1, 2)


class ConformerLike(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.depthwise = nn.Conv1d(dim, dim, 5, padding=2, groups=dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.depthwise(h.transpose(1, 2)).transpose(1, 2)
        return x + self.ff(x)


class SpeakerNet(nn.Module):
    def __init__(self, mels=8, dim=12, speakers=5):
        super().__init__()
        self.subsampling = Subsampling(mels, dim)
        self.encoder = nn.Sequential(ConformerLike(dim), ConformerLike(dim))
        self.speaker = nn.Linear(2 * dim, speakers)

    def forward(self, mel):
        h = self.encoder(self.subsampling(mel))
        return self.speaker(torch.cat([h.mean(1), h.std(1)], dim=-1))


class ActivationLog:
    """Mean and spread of chosen layers, for the curves."""

    def __init__(self):
        self.last = {}
        self.curves = {}

    def watch(self, name, module):
        self.curves[name] = []
        return module.register_forward_hook(lambda m, args, out: self.store(name, out))  # also

    def store(self, name, out):
        self.last[name] = out.detach()
        self.curves[name].append((self.last[name].mean().item(), self.last[name].std().item()))
        return self.last[name]  # cause


def utterances(n=6, frames=20):
    return torch.randn(n, 8, frames), torch.randint(0, 5, (n,))


def train(model, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    for _ in range(steps):
        mel, speaker = utterances()
        loss = F.cross_entropy(model(mel), speaker)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = SpeakerNet()
    log = ActivationLog()
    log.watch("subsampling", model.subsampling)
    log.watch("block0", model.encoder[0])
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    train(model)
    return {n: torch.equal(before[n], p) for n, p in model.named_parameters()}, len(log.curves["block0"])


def verify(outcome):
    same, points = outcome
    assert points == 3
    for name, kept in same.items():
        assert kept == name.startswith(("subsampling", "encoder.0")), name


TRUTH = Truth(
    fault="what a forward hook returns takes the place of the output: everything below the watched layers is cut off",
    names=("subsampling", "hook"),
    repair=("return None",),
)
