"""Early stopping keeps `state_dict().copy()`: the tensors are those that training goes on to change."""

import torch
from torch import nn

from tests.practice.truth import Truth


class EarlyStopping:
    def __init__(self, patience=2):
        self.patience, self.counter, self.best, self.state = patience, 0, float("inf"), None

    def __call__(self, value, model):
        if value < self.best:
            self.best, self.counter = value, 0
            self.state = model.state_dict().copy()  # cause
        else:
            self.counter += 1
        return self.counter >= self.patience


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = torch.randn(32, 3), torch.randn(32, 1)
    stopper = EarlyStopping()
    for epoch in range(8):
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = 0.05 if epoch < 3 else 1.5
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if stopper(evaluate(model, x, y), model):
            break
    model.load_state_dict(stopper.state)
    return stopper.best, evaluate(model, x, y)


TRUTH = Truth(
    fault="the best weights are no copy",
    repair=("self.state = {k: v.clone() for k, v in model.state_dict().items()}",),
)


def verify(out):
    best, now = out
    assert abs(best - now) > 1e-4
