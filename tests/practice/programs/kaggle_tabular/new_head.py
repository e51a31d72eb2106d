"""Tabular transfer: the output layer is swapped for the new target after the optimizer was built, and never trains."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


class CFG:
    n_features = 12
    hidden = 24
    n_old = 5
    n_new = 3
    lr = 5e-3
    epochs = 3
    bs = 16


class TabularNet(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.bn = nn.BatchNorm1d(n_in)
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.head = nn.Linear(hidden, n_out)

    def forward(self, x):
        return self.head(self.body(self.bn(x)))


def get_data():
    X = torch.randn(48, CFG.n_features)
    y = (X[:, 0] > 0).long() + (X[:, 1] > 0.5).long()
    return DataLoader(TensorDataset(X, y), batch_size=CFG.bs, shuffle=True)


def build():
    model = TabularNet(CFG.n_features, CFG.hidden, CFG.n_old)
    optimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=1e-2)  # also
    # this competition has 3 classes, not 5
    model.head = nn.Linear(CFG.hidden, CFG.n_new)  # cause
    return model, optimizer


def run():
    torch.manual_seed(42)
    loader = get_data()
    model, optimizer = build()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    model.train()
    for epoch in range(CFG.epochs):
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item()
    return before, model.state_dict()


def verify(outcome):
    before, after = outcome
    assert not torch.equal(before["body.0.weight"], after["body.0.weight"])
    assert torch.equal(before["head.weight"], after["head.weight"])


TRUTH = Truth(
    fault="the head is replaced after the optimizer was built, so the new head is in no parameter group",
    names=("head",),
    repair=(
        "model.head = nn.Linear(CFG.hidden, CFG.n_new)\noptimizer = torch.optim.AdamW(model.parameters(), lr=CFG.lr)",
    ),
)
