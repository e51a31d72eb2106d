"""CTC with a subsampling front end: too few frames for the transcript, and zero_infinity makes the loss and its gradient zero."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ConvSubsampling(nn.Module):
    def __init__(self, mels, dim, strides):
        super().__init__()
        self.strides = strides
        widths = [mels] + [dim] * len(strides)
        self.convs = nn.ModuleList(nn.Conv1d(a, b, 3, s, 1) for a, b, s in zip(widths, widths[1:], strides))

    def forward(self, x, lengths):
        for conv, stride in zip(self.convs, self.strides):
            x = F.relu(conv(x))
            lengths = (lengths - 1) // stride + 1
        return x.transpose(1, 2), lengths


class SpeechModel(nn.Module):
    def __init__(self, mels=16, dim=24, vocab=12, strides=(2, 2)):  # cause
        super().__init__()
        self.front = ConvSubsampling(mels, dim, strides)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.proj = nn.Linear(dim, vocab)

    def forward(self, mel, lengths):
        x, lengths = self.front(mel, lengths)
        x, _ = self.encoder(x)
        return self.proj(x).log_softmax(-1), lengths


def collate(n=4, mels=16, vocab=12):
    frames = torch.randint(44, 49, (n,))
    mel = torch.randn(n, mels, 48)
    for i, length in enumerate(frames):
        mel[i, :, length:] = 0
    target_lengths = torch.randint(14, 18, (n,))
    targets = torch.randint(1, vocab, (n, 18))
    return mel, frames, targets, target_lengths


class Trainer:
    def __init__(self, model, lr=0.5):
        self.model = model
        self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)  # also
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.history = []

    def step(self, mel, frames, targets, target_lengths):
        logp, out_lengths = self.model(mel, frames)
        loss = self.ctc(logp.transpose(0, 1), targets, out_lengths, target_lengths)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.history.append((loss.item(), norm.item()))


def run():
    torch.manual_seed(0)
    trainer = Trainer(SpeechModel())
    before = trainer.model.proj.weight.detach().clone()
    for _ in range(3):
        trainer.step(*collate())
    return trainer.history, before, trainer.model.proj.weight.detach()


def verify(outcome):
    history, before, after = outcome
    assert all(loss == 0 and norm == 0 for loss, norm in history)
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="after two strides there are fewer frames than labels: every loss is infinite and set to zero",
    names=("CTCLoss", "ctc"),
    repair=("def __init__(self, mels=16, dim=24, vocab=12, strides=(2, 1)):",),
)
