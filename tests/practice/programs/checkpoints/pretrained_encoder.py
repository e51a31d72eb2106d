"""A checkpoint saved from DataParallel: every key begins with "module.", and strict=False loads none of them."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, dim), nn.LayerNorm(dim), nn.GELU(), nn.Linear(dim, dim))

    def forward(self, x):
        return self.body(x)


class Classifier(nn.Module):
    def __init__(self, encoder, classes=3):
        super().__init__()
        self.encoder = encoder
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.encoder(x))


class Wrapped(nn.Module):
    """What DataParallel does to the names."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


def pretrain(path):
    wrapped = Wrapped(Encoder())
    opt = torch.optim.Adam(wrapped.parameters(), lr=1e-2)
    for _ in range(2):
        x = torch.randn(16, 6)
        a, b = (F.normalize(wrapped(x + 0.1 * torch.randn_like(x)), dim=1) for _ in range(2))
        loss = F.cross_entropy(a @ b.T / 0.2, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"epoch": 2, "model": wrapped.state_dict(), "optimizer": opt.state_dict()}, path)
    return wrapped


def run():
    torch.manual_seed(0)
    path = io.BytesIO()
    source = pretrain(path)
    path.seek(0)
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    encoder = Encoder()
    encoder.load_state_dict(checkpoint["model"], strict=False)  # cause
    loaded = {k: v.clone() for k, v in encoder.state_dict().items()}
    model = Classifier(encoder)
    opt = torch.optim.SGD([{"params": model.fc.parameters()}, {"params": encoder.parameters(), "lr": 1e-3}], lr=0.1)
    for epoch in range(2):
        x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"epoch {epoch + checkpoint['epoch']} loss {loss.item():.4f}")
    return source, loaded


def verify(out):
    source, loaded = out
    assert not torch.equal(source.module.body[0].weight, loaded["body.0.weight"])


TRUTH = Truth(
    fault="no key of the checkpoint fits, and strict=False hides it",
    names=("module.",),
    repair=('encoder.load_state_dict({k.removeprefix("module."): v for k, v in checkpoint["model"].items()})',),
)
