"""Audio: the encoder is to thaw after two updates, but the count never reaches the module that asks for it."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class BaseModel(nn.Module):
    def set_num_updates(self, num_updates):
        for child in self.children():
            if hasattr(child, "set_num_updates"):  # also
                child.set_num_updates(num_updates)


class FeatureExtractor(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv1d(1, dim, 10, stride=5), nn.GELU(), nn.Conv1d(dim, dim, 3, stride=2), nn.GELU()
        )

    def forward(self, wave):
        return self.convs(wave.unsqueeze(1)).transpose(1, 2)


class SpeechEncoder(BaseModel):
    """A pretrained model that is kept frozen for the first updates."""

    def __init__(self, dim, freeze_finetune_updates):
        super().__init__()
        self.features = FeatureExtractor(dim)
        self.context = nn.GRU(dim, dim, batch_first=True)
        self.freeze_finetune_updates = freeze_finetune_updates
        self.num_updates = 0

    def set_num_updates(self, num_updates):
        super().set_num_updates(num_updates)
        self.num_updates = num_updates

    def forward(self, wave):
        thawed = self.freeze_finetune_updates <= self.num_updates
        with contextlib.nullcontext() if thawed else torch.no_grad():  # also
            return self.context(self.features(wave))[0]


class EncoderStack(nn.ModuleList):  # also
    """Averages its encoders."""

    def forward(self, wave):
        return torch.stack([encoder(wave) for encoder in self]).mean(0)


class CTCModel(BaseModel):
    def __init__(self, dim=12, tokens=6, encoders=1):
        super().__init__()
        self.encoders = EncoderStack([SpeechEncoder(dim, freeze_finetune_updates=2) for _ in range(encoders)])
        self.proj = nn.Linear(dim, tokens)

    def forward(self, wave):
        return self.proj(self.encoders(wave)).log_softmax(-1)


def batch(n=4, samples=320, labels=5):
    return torch.randn(n, samples), torch.randint(1, 6, (n, labels))


def train(model, optimizer, updates):
    seen = []
    for num_updates in range(updates):
        model.set_num_updates(num_updates)  # cause
        wave, target = batch()
        logp = model(wave)
        frames = torch.full((len(wave),), logp.shape[1])
        lengths = torch.full((len(wave),), target.shape[1])
        loss = F.ctc_loss(logp.transpose(0, 1), target, frames, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(model.encoders[0].context.weight_ih_l0.grad is not None)
    return seen


def run():
    torch.manual_seed(0)
    model = CTCModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = model.encoders[0].features.convs[0].weight.detach().clone()
    seen = train(model, optimizer, updates=4)
    return seen, before, model.encoders[0].features.convs[0].weight.detach()


def verify(outcome):
    seen, before, after = outcome
    assert not any(seen)
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="set_num_updates does not pass through the ModuleList, so the encoder stays under no_grad for ever",
    names=("encoders", "no_grad"),
    repair=(
        "model.set_num_updates(num_updates)\nfor encoder in model.encoders:\n    encoder.set_num_updates(num_updates)",
    ),
)
