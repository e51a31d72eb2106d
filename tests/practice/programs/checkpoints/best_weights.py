"""Early stopping: the best state_dict is kept without a copy, so it follows the weights that are trained on."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EarlyStopping:
    def __init__(self, patience=2, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.best_state, self.wait = float("inf"), None, 0

    def __call__(self, val_loss, model):
        if val_loss < self.best_loss - self.min_delta:
            self.best_loss, self.wait = val_loss, 0
            self.best_state = model.state_dict()  # cause
        else:
            self.wait += 1
        return self.wait >= self.patience


class Forecaster(nn.Module):
    def __init__(self, window=8, hidden=8):
        super().__init__()
        self.conv = nn.Conv1d(1, hidden, 3, padding=1)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden * window, 1)

    def forward(self, x):
        return self.fc(self.drop(F.relu(self.conv(x[:, None]))).flatten(1)).squeeze(1)


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return F.l1_loss(model(x), y).item()


def run():
    torch.manual_seed(0)
    series = torch.sin(torch.arange(60) / 3) + 0.1 * torch.randn(60)
    windows = series.unfold(0, 9, 1)
    train, val = windows[:32], windows[40:]
    model, stopper = Forecaster(), EarlyStopping()
    opt = torch.optim.Adam(model.parameters(), lr=0.2)
    history = []
    for epoch in range(4):
        model.train()
        for batch in train.split(16):
            loss = F.mse_loss(model(batch[:, :-1]), batch[:, -1])
            opt.zero_grad()
            loss.backward()
            opt.step()
        history.append(validate(model, val[:, :-1], val[:, -1]))
        print(f"epoch {epoch} val {history[-1]:.4f}")
        if stopper(history[-1], model):
            break
    model.load_state_dict(stopper.best_state)
    final = validate(model, val[:, :-1], val[:, -1])
    print(f"best {stopper.best_loss:.4f}, restored {final:.4f}")
    return history, stopper.best_loss, final


def verify(out):
    history, best, final = out
    assert best < history[-1] and final == history[-1]


TRUTH = Truth(
    fault="the kept state shares the trained weights' memory",
    names=("state_dict",),
    repair=("self.best_state = {k: v.clone() for k, v in model.state_dict().items()}",),
)
