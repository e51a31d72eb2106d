"""Handwriting: one line of text is longer than its frames, CTC's loss is infinite and one batch turns the reader to NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LineReader(nn.Module):
    def __init__(self, height=6, alphabet=9):
        super().__init__()
        self.conv = nn.Conv1d(height, 16, 3, padding=1)
        self.rnn = nn.GRU(16, 12, bidirectional=True, batch_first=True)
        self.out = nn.Linear(24, alphabet + 1)

    def forward(self, image):
        h = F.relu(self.conv(image)).transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


class CTCTrainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.CTCLoss(blank=0, reduction="mean")  # cause
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.healthy = []

    def step(self, image, widths, text, lengths):
        log_probs = self.model(image).transpose(0, 1)
        loss = self.criterion(log_probs, text, widths, lengths)  # also
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.healthy.append(all(bool(p.isfinite().all()) for p in self.model.parameters()))


def lines(n, longest):
    image = torch.rand(n, 6, 20)
    widths = torch.full((n,), 20)
    widths[-1] = 8
    lengths = torch.randint(3, 6, (n,))
    lengths[-1] = longest
    text = torch.randint(1, 10, (n, 12))
    return image, widths, text, lengths


def run():
    torch.manual_seed(0)
    trainer = CTCTrainer(LineReader())
    trainer.step(*lines(6, longest=4))
    trainer.step(*lines(6, longest=11))  # eleven letters in eight frames
    trainer.step(*lines(6, longest=4))
    return trainer.healthy


def verify(outcome):
    assert outcome == [True, False, False]


TRUTH = Truth(
    fault="an impossible alignment has an infinite loss; zero_infinity is off and the weights become NaN",
    values=True,
    names=("ctc",),
    repair=('self.criterion = nn.CTCLoss(blank=0, reduction="mean", zero_infinity=True)',),
)
