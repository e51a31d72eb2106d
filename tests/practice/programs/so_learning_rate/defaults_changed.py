"""'Learning rate does not change': the decay is written to optimizer.defaults, which no step reads."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Autoencoder(nn.Module):
    def __init__(self, n=8, code=3):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n, 12), nn.Tanh(), nn.Linear(12, code))
        self.decode = nn.Sequential(nn.Linear(code, 12), nn.Tanh(), nn.Linear(12, n))

    def forward(self, x):
        return self.decode(self.encode(x))


def adjust_learning_rate(optimizer, epoch, base_lr, gamma=0.1):
    """Decay by ten each epoch."""
    lr = base_lr * gamma**epoch
    optimizer.defaults["lr"] = lr  # cause
    return lr


def flat(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def run(base_lr=0.05, epochs=4):
    torch.manual_seed(0)
    model = Autoencoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=base_lr)
    criterion = nn.MSELoss()
    data = torch.randn(24, 3) @ torch.randn(3, 8)
    ratio = []
    log = []
    for epoch in range(epochs):
        lr = adjust_learning_rate(optimizer, epoch, base_lr)
        for chunk in data.chunk(2):
            optimizer.zero_grad()
            loss = criterion(model(chunk), chunk)
            loss.backward()
            start = flat(model)
            optimizer.step()
            size = (flat(model) - start).norm()
            grad = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).norm()
        log.append((epoch, lr, loss.item()))
        ratio.append((size / grad).item())  # the learning rate in force
    return ratio, log


def verify(outcome):
    ratio, log = outcome
    assert log[-1][1] < 1e-4
    assert all(abs(r - 0.05) < 1e-3 for r in ratio), ratio


TRUTH = Truth(
    fault="the new learning rate is put into optimizer.defaults, not into the param_groups, so it never takes effect",
    names=("defaults",),
    repair=('for group in optimizer.param_groups:\n    group["lr"] = lr',),
)
