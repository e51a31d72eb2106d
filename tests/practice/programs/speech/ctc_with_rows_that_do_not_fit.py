"""A recogniser that leaves out rows whose transcript does not fit, with a masked front end and a frozen norm."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Recogniser(nn.Module):
    def __init__(self, mels=10, dim=12, letters=9):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(mels, dim, 3, 2, 1), nn.GELU(), nn.Conv1d(dim, dim, 3, 2, 1), nn.GELU())
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * dim, letters)

    def forward(self, mel, lengths):
        frames = (lengths + 3) // 4
        h = self.front(mel).transpose(1, 2)
        h = h * (torch.arange(h.size(1)) < frames[:, None]).unsqueeze(-1)
        packed = nn.utils.rnn.pack_padded_sequence(h, frames, batch_first=True, enforce_sorted=False)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.head(out).log_softmax(-1), frames


def run():
    torch.manual_seed(0)
    model = Recogniser()
    criterion = nn.CTCLoss(blank=0, reduction="none", zero_infinity=True)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        lengths, sizes = torch.tensor([40, 36, 12]), torch.tensor([6, 5, 7])
        texts = torch.randint(1, 9, (3, 7))
        log_probs, frames = model(torch.randn(3, 10, 40), lengths)
        rows = criterion(log_probs.transpose(0, 1), texts, frames, sizes)
        loss = (rows / sizes).sum() / (rows > 0).sum().clamp(min=1)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    return losses


def verify(losses):
    assert all(0 < value < 100 for value in losses)


TRUTH = Truth()
