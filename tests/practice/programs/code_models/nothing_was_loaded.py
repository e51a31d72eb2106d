"""Code model: the checkpoint's keys carry "module.", strict=False drops them all, and fine-tuning starts from random weights."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, tokens=30, dim=16):
        super().__init__()
        self.embed = nn.Embedding(tokens, dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        h = self.embed(ids)
        return self.norm(h + F.gelu(self.conv(h.transpose(1, 2))).transpose(1, 2))


class NextToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(16, 30)

    def forward(self, ids):
        return self.head(self.encoder(ids))


class BugDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.classify = nn.Linear(16, 2)

    def forward(self, ids):
        return self.classify(self.encoder(ids).mean(1))


class Wrapped(nn.Module):
    """Stands for DistributedDataParallel: the same model one level down."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


def fit(model, inputs, targets, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    pretrained = Wrapped(NextToken())
    source = torch.randint(30, (16, 9))
    fit(pretrained, source[:, :-1], source[:, 1:])
    file = io.BytesIO()
    torch.save(pretrained.state_dict(), file)
    file.seek(0)

    detector = BugDetector()
    state = torch.load(file)
    detector.load_state_dict(state, strict=False)  # the head is new  # cause
    loaded = detector.encoder.embed.weight.detach().clone()
    fit(detector, source, torch.randint(2, (16,)))
    return pretrained.module.encoder.embed.weight.detach(), loaded


def verify(outcome):
    pretrained, loaded = outcome
    assert not torch.equal(pretrained, loaded)


TRUTH = Truth(
    fault="no key fits, strict=False says nothing: the encoder is random",
    names=("load_state_dict", "strict"),
    repair=('detector.load_state_dict({k.removeprefix("module."): v for k, v in state.items()}, strict=False)',),
)
