"""SpecAugment inside the network: spans of the activations are set to 0 in place."""

import random

import torch
from torch import nn

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, mels=12, hidden=16, classes=5):
        super().__init__()
        self.conv = nn.Conv1d(mels, hidden, 3, padding=1)
        self.act = nn.Sigmoid()
        self.rnn = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def augment(self, h):
        for row in range(len(h)):
            start = random.randrange(h.shape[-1] - 4)
            h[row, :, start : start + 4] = 0  # cause
        return h

    def forward(self, mel):
        h = self.act(self.conv(mel))
        if self.training:
            h = self.augment(h)
        h, _ = self.rnn(h.transpose(1, 2))
        return self.head(h).log_softmax(-1)


def run():
    torch.manual_seed(0)
    random.seed(0)
    model = Encoder()
    ctc = nn.CTCLoss(zero_infinity=True)
    opt = torch.optim.Adam(model.parameters(), lr=3e-4)
    for _ in range(2):
        mel, targets = torch.randn(4, 12, 20), torch.randint(1, 5, (4, 6))
        opt.zero_grad()
        logits = model(mel).transpose(0, 1)
        loss = ctc(logits, targets, torch.full((4,), 20), torch.full((4,), 6))
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="the sigmoid saved its output, which is overwritten",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("sigmoid",),
    repair=("h = h.clone()\nh[row, :, start : start + 4] = 0",),
)
