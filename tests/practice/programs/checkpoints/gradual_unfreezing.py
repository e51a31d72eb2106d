"""Gradual unfreezing by `epoch == 1`: a run resumed at epoch 2 never gets there, and the encoder stays frozen."""

import io

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class AudioClassifier(nn.Module):
    def __init__(self, mels=6, dim=8, classes=4):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(mels, dim, 3, padding=1), nn.GroupNorm(2, dim), nn.ReLU(), nn.Conv1d(dim, dim, 3, padding=1)
        )
        self.attn = nn.Linear(dim, 1)
        self.fc = nn.Linear(dim, classes)

    def forward(self, spec):
        h = F.relu(self.encoder(spec)).transpose(1, 2)
        w = self.attn(h).softmax(1)
        return self.fc((w * h).sum(1))


class Loop:
    unfreeze_at = 1

    def __init__(self, checkpoint=None):
        self.model = AudioClassifier()
        self.model.encoder.requires_grad_(False)  # also
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.start = 0
        if checkpoint is not None:
            checkpoint.seek(0)
            state = torch.load(checkpoint, weights_only=True)
            self.model.load_state_dict(state["model"])
            self.opt.load_state_dict(state["opt"])
            self.start = state["epoch"] + 1

    def train(self, epochs, checkpoint=None):
        for epoch in range(self.start, epochs):
            if epoch == self.unfreeze_at:  # cause
                self.model.encoder.requires_grad_(True)
            spec, y = torch.randn(8, 6, 10), torch.randint(0, 4, (8,))
            logits = self.model(spec)
            loss = F.cross_entropy(logits, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            print(f"epoch {epoch} loss {loss.item():.4f} acc {(logits.argmax(1) == y).float().mean().item():.2f}")
            if checkpoint is not None:
                checkpoint.seek(0)
                torch.save({"model": self.model.state_dict(), "opt": self.opt.state_dict(), "epoch": epoch}, checkpoint)


def run():
    torch.manual_seed(0)
    file = io.BytesIO()
    Loop().train(2, checkpoint=file)
    resumed = Loop(file)
    resumed.train(4)
    return resumed.model


def verify(out):
    assert not any(p.requires_grad for p in out.encoder.parameters())


TRUTH = Truth(
    fault="the resumed run trains with a frozen encoder",
    names=("encoder",),
    minor=True,  # one of two models may be trained frozen on purpose
    repair=("if epoch >= self.unfreeze_at:",),
)
