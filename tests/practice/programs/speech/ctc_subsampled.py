"""Character CTC on features that a convolution shortens by four."""

import torch
from torch import nn

from tests.practice.truth import Truth, fails


class AcousticModel(nn.Module):
    def __init__(self, mels=8, width=16, chars=12):
        super().__init__()
        self.sub = nn.Sequential(
            nn.Conv1d(mels, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(width, width, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, chars)

    def forward(self, feats, lengths):
        h = self.sub(feats.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1), (lengths + 3) // 4


class Recipe:
    def __init__(self, lr=2e-3):
        self.model = AcousticModel()
        self.ctc = nn.CTCLoss(blank=0)  # cause
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def compute(self, batch):
        feats, flen, text, tlen = batch
        logp, olen = self.model(feats, flen)
        return self.ctc(logp.transpose(0, 1), text, olen, tlen)

    def fit(self, batches):
        for batch in batches:
            loss = self.compute(batch)
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.opt.step()


def utterances(seed):
    g = torch.Generator().manual_seed(seed)
    flen = torch.tensor([40, 36, 32, 20])
    tlen = torch.tensor([5, 4, 6, 7])
    return torch.randn(4, 40, 8, generator=g), flen, torch.randint(1, 12, (4, 7), generator=g), tlen


def run():
    torch.manual_seed(0)
    recipe = Recipe()
    recipe.fit([utterances(s) for s in range(3)])
    return recipe.model


TRUTH = Truth(
    fault="one transcript is longer than its shortened input: infinite loss, gradients not finite",
    names=("zero_infinity",),
    values=True,
    repair=("self.ctc = nn.CTCLoss(blank=0, zero_infinity=True)",),
)


def well(out):
    assert all(p.isfinite().all() for p in out.parameters())


verify = fails(well)
