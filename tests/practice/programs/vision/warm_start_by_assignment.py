"""Vision: load_state_dict(assign=True) exchanges the parameters, the optimizer still holds those of before."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MLPMixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tokens = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channels = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, tokens=4, dim=8, depth=2, classes=3):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.blocks = nn.Sequential(*[MLPMixerBlock(tokens, dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)).mean(1))


def published_weights():
    """Stands for the file of the model zoo: the backbone without a head."""
    torch.manual_seed(42)
    state = {k: v for k, v in Mixer().state_dict().items() if not k.startswith("head")}
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file


def warm_start(model, file):
    state = torch.load(file, map_location="cpu", weights_only=True)
    # no second copy in memory
    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)  # cause
    assert not unexpected and all(k.startswith("head") for k in missing)


def build(cfg):
    model = Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    warm_start(model, published_weights())  # also
    return model, optimizer


def train(model, optimizer, steps):
    losses = []
    for _ in range(steps):
        x, y = torch.randn(8, 4, 16), torch.randint(0, 3, (8,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run():
    model, optimizer = build({"lr": 1e-2})
    before = {k: v.clone() for k, v in model.state_dict().items()}
    train(model, optimizer, steps=3)
    return before, model.state_dict()


def verify(outcome):
    before, after = outcome
    for key in before:
        assert torch.equal(before[key], after[key]) == (not key.startswith("head")), key


TRUTH = Truth(
    fault="assign=True puts new parameters into the backbone after the optimizer was built: they are never updated",
    names=("assign",),
    repair=("missing, unexpected = model.load_state_dict(state, strict=False)",),
)
