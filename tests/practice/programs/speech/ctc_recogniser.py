"""A recogniser with SpecAugment, packed sequences and a front end that thaws after the warm-up: nothing is wrong."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from tests.practice.truth import Truth


def spec_augment(feats, width=2):
    """Mask some frames and bands in a copy."""
    feats = feats.clone()
    t = torch.randint(0, feats.shape[1] - width, ()).item()
    f = torch.randint(0, feats.shape[2] - width, ()).item()
    feats[:, t : t + width] = 0.0
    feats[:, :, f : f + width] = 0.0
    return feats


class Recogniser(nn.Module):
    def __init__(self, n_mels=8, dim=12, vocab=5):
        super().__init__()
        self.frontend = nn.Sequential(nn.Linear(n_mels, dim), nn.ReLU(inplace=True))
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, vocab)

    def forward(self, feats, lengths):
        x = self.frontend(spec_augment(feats) if self.training else feats)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        x, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.out(x).log_softmax(-1)


@torch.no_grad()
def greedy(model, feats, lengths):
    was_training = model.training
    model.eval()
    best = model(feats, lengths).argmax(-1)
    model.train(was_training)
    return [torch.unique_consecutive(row[row > 0]).tolist() for row in best]


def run(steps=6, thaw_at=3):
    torch.manual_seed(0)
    model = Recogniser()
    model.frontend.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 3))
    ctc = nn.CTCLoss(zero_infinity=True)
    before = model.frontend[0].weight.detach().clone()
    total = 0.0
    for step in range(steps):
        if step == thaw_at:
            assert torch.equal(before, model.frontend[0].weight)
            model.frontend.requires_grad_(True)
        lengths = torch.randint(8, 12, (3,))
        feats = pad_sequence([torch.randn(n, 8) for n in lengths.tolist()], batch_first=True)
        targets = torch.randint(1, 5, (3, 3))
        loss = ctc(model(feats, lengths).transpose(0, 1), targets, lengths, torch.full((3,), 3))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        print(f"step {step} ctc {total / (step + 1):.3f} e.g. {greedy(model, feats, lengths)[0]}")
    return model, before


def verify(out):
    model, before = out
    assert model.training and not torch.equal(before, model.frontend[0].weight)


TRUTH = Truth()
