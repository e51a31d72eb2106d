"""Strided convolutions leave fewer frames than a transcript has letters: the loss of that row is infinite."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from tests.practice.truth import Truth


class Recogniser(nn.Module):
    def __init__(self, mels=10, dim=12, letters=9):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(mels, dim, 3, 2, 1), nn.GELU(), nn.Conv1d(dim, dim, 3, 2, 1), nn.GELU())
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, letters)

    def forward(self, mel, lengths):
        h = self.front(mel).transpose(1, 2)
        return self.head(self.rnn(h)[0]).log_softmax(-1), (lengths + 3) // 4


def batch():
    lengths = torch.tensor([40, 36, 12])
    texts = [torch.randint(1, 9, (n,)) for n in (6, 5, 7)]
    mel = torch.randn(3, 10, 40)
    return mel, lengths, pad_sequence(texts, batch_first=True), torch.tensor([len(t) for t in texts])


def run():
    torch.manual_seed(0)
    model = Recogniser()
    criterion = nn.CTCLoss(blank=0)  # cause
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        mel, lengths, texts, text_lengths = batch()
        log_probs, frames = model(mel, lengths)
        loss = criterion(log_probs.transpose(0, 1), texts, frames, text_lengths)  # also
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert any(value != value or value == float("inf") for value in losses)


TRUTH = Truth(
    fault="a transcript longer than its frames has an infinite loss",
    names=("ctc",),
    values=True,
    repair=("criterion = nn.CTCLoss(blank=0, zero_infinity=True)",),
)
