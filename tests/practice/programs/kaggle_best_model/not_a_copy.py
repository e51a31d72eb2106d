"""Early stopping: the best state is kept as a reference, so restoring it restores the last epoch."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

SEED, EPOCHS, PATIENCE = 3, 5, 4


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_score = float("inf")
        self.best_state = None
        self.counter = 0

    def __call__(self, score, model):
        if score < self.best_score:
            self.best_score = score
            self.best_state = model.state_dict()  # cause
            self.counter = 0
        else:
            self.counter += 1
        return self.counter >= self.patience


def make_model():
    return nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(), nn.Linear(16, 1))


def train_one_epoch(model, opt, x, y):
    model.train()
    for xb, yb in zip(x.split(8), y.split(8)):
        opt.zero_grad()
        F.mse_loss(model(xb), yb).backward()
        opt.step()


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return F.mse_loss(model(x), y).item()


def run():
    torch.manual_seed(SEED)
    x, xv = torch.randn(32, 6), torch.randn(32, 6)
    w = torch.randn(6, 1)
    y, yv = x @ w + torch.randn(32, 1), xv @ w
    model = make_model()
    # the warm-up is far too hot after two epochs
    opt = torch.optim.SGD(model.parameters(), lr=0.02)
    stopper = EarlyStopping(PATIENCE)
    scores = []
    for epoch in range(EPOCHS):
        if epoch == 3:
            opt.param_groups[0]["lr"] = 0.3
        train_one_epoch(model, opt, x, y)
        scores.append(validate(model, xv, yv))
        if stopper(scores[-1], model):
            break
    model.load_state_dict(stopper.best_state)
    return scores, validate(model, xv, yv)


def verify(outcome):
    scores, restored = outcome
    assert min(scores) < scores[-1]
    assert abs(restored - scores[-1]) < 1e-6


TRUTH = Truth(
    fault="best_state is the live state_dict, which further steps overwrite: it is the last state, not the best",
    names=("state_dict",),
    repair=("self.best_state = {k: v.clone() for k, v in model.state_dict().items()}",),
)
