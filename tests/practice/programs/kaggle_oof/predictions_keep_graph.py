"""Out-of-fold predictions: the validation pass is in eval mode but records graphs, which stay alive through the stored outputs."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CFG:
    folds = 2
    epochs = 2
    bs = 10
    lr = 3e-3


class Net(nn.Module):
    def __init__(self, n_in=9):
        super().__init__()
        self.seq = nn.Sequential(
            nn.Linear(n_in, 32),
            nn.BatchNorm1d(32),
            nn.Mish(),
            nn.Dropout(0.1),
            nn.Linear(32, 1),
        )

    def forward(self, x):
        return self.seq(x)[:, 0]


def loaders(x, y, fold):
    valid = torch.arange(len(x)) % CFG.folds == fold
    split = lambda m: list(zip(x[m].split(CFG.bs), y[m].split(CFG.bs)))
    return split(~valid), split(valid), valid


def train_fn(model, opt, batches):
    model.train()
    for xb, yb in batches:
        opt.zero_grad()
        F.binary_cross_entropy_with_logits(model(xb), yb).backward()
        opt.step()


def valid_fn(model, batches):
    model.eval()
    preds, total = [], 0.0
    for xb, yb in batches:
        out = model(xb)
        total += F.binary_cross_entropy_with_logits(out, yb).item()
        preds.append(out.sigmoid())  # cause
    return torch.cat(preds), total / len(batches)


def run():
    torch.manual_seed(5)
    x = torch.randn(40, 9)
    y = (x[:, 0] * x[:, 1] > 0).float()
    all_preds = []
    for fold in range(CFG.folds):
        train, valid, mask = loaders(x, y, fold)
        model = Net()
        opt = torch.optim.AdamW(model.parameters(), lr=CFG.lr)
        for epoch in range(CFG.epochs):
            train_fn(model, opt, train)
            pred, score = valid_fn(model, valid)
            all_preds.append((fold, epoch, score, pred))  # also
    return all_preds


def verify(all_preds):
    assert all(p[-1].grad_fn is not None for p in all_preds)


TRUTH = Truth(
    fault="the validation outputs are stored with their graphs, which keep every activation alive (no no_grad, no detach)",
    names=("valid_fn",),
    repair=("preds.append(out.sigmoid().detach())",),
)
