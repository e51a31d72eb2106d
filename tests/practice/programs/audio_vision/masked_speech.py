"""wav2vec-style masking before the transformer: the mask embedding is written into the extractor's own ReLU output."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FeatureExtractor(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.conv1 = nn.Conv1d(1, dim, 10, stride=5)
        self.conv2 = nn.Conv1d(dim, dim, 3, stride=2)

    def forward(self, wave):
        h = F.relu(self.conv1(wave[:, None]))
        return F.relu(self.conv2(h)).transpose(1, 2)


def span_mask(batch, frames, prob=0.2, span=2):
    mask = torch.zeros(batch, frames, dtype=torch.bool)
    for b in range(batch):
        for start in (torch.rand(frames - span) < prob).nonzero().flatten().tolist():
            mask[b, start : start + span] = True
    return mask


class SpeechCtc(nn.Module):
    def __init__(self, dim=12, chars=6):
        super().__init__()
        self.extractor = FeatureExtractor(dim)
        self.mask_embedding = nn.Parameter(torch.rand(dim))
        self.context = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.ctc_head = nn.Linear(dim, chars)

    def apply_mask(self, hidden):
        mask = span_mask(*hidden.shape[:2])
        hidden[mask] = self.mask_embedding  # cause
        return hidden

    def forward(self, wave):
        hidden = self.extractor(wave)
        if self.training:
            hidden = self.apply_mask(hidden)
        return self.ctc_head(self.context(hidden)).log_softmax(-1)


def finetune(model, batches, lr=1e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98))
    model.train()
    for step, (wave, text) in enumerate(batches):
        logp = model(wave).transpose(0, 1)
        frames = torch.full((len(wave),), len(logp))
        loss = F.ctc_loss(logp, text, frames, torch.full((len(text),), text.shape[1]), zero_infinity=True)
        opt.zero_grad()
        loss.backward()  # symptom
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        print(f"step {step} ctc {loss.item():.4f}")


def run():
    torch.manual_seed(0)
    model = SpeechCtc()
    model.eval()
    with torch.no_grad():
        print("frames", model(torch.randn(1, 160)).shape[1])
    finetune(model, [(torch.randn(3, 160), torch.randint(1, 6, (3, 4))) for _ in range(3)])
    return model


TRUTH = Truth(
    fault="the masked frames are written over what the ReLU has saved for its backward",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("hidden",),
    repair=("hidden = torch.where(mask[..., None], self.mask_embedding, hidden)",),
)
