"""Fine-tuning a speech encoder with CTC: the convolutional front end is to stay as pretrained, but it trains along."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FeatureExtractor(nn.Module):
    """Raw samples to frames."""

    def __init__(self, dim):
        super().__init__()
        self.conv0 = nn.Conv1d(1, dim, 8, stride=4)
        self.norm0 = nn.GroupNorm(2, dim)
        self.conv1 = nn.Conv1d(dim, dim, 4, stride=2)

    def forward(self, wave):
        x = F.gelu(self.norm0(self.conv0(wave[:, None])))
        return F.gelu(self.conv1(x)).transpose(1, 2)


class SpeechEncoderForCTC(nn.Module):
    def __init__(self, dim=16, vocab=6):
        super().__init__()
        self.feature_extractor = FeatureExtractor(dim)
        self.project = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim))
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def freeze_feature_extractor(self):
        """Too little labelled data to touch the convolutions."""
        self.feature_extractor.requires_grad = False  # cause

    def forward(self, wave):
        return self.lm_head(self.encoder(self.project(self.feature_extractor(wave))))


def ctc_loss(logits, labels):
    log_probs = logits.log_softmax(-1).transpose(0, 1)
    frames = torch.full((len(logits),), logits.shape[1])
    lengths = torch.full((len(labels),), labels.shape[1])
    return F.ctc_loss(log_probs, labels, frames, lengths, blank=0, zero_infinity=True)


def run(steps=3):
    torch.manual_seed(0)
    model = SpeechEncoderForCTC()
    model.freeze_feature_extractor()
    before = model.feature_extractor.conv0.weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for step in range(steps):
        wave, labels = torch.randn(3, 160), torch.randint(1, 6, (3, 4))
        loss = ctc_loss(model(wave), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # symptom
        print(f"step {step} ctc {loss.item():.3f}")
    return model, before


def verify(out):
    model, before = out
    assert not torch.equal(model.feature_extractor.conv0.weight, before)


TRUTH = Truth(
    fault="requires_grad is set as an attribute of a module, which freezes nothing",
    names=("feature_extractor",),
    repair=("self.feature_extractor.requires_grad_(False)",),
)
