"""A moving average of the loss is subtracted to balance the samples, and carries the previous steps' graphs with it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SuperLoss:
    """Weighs hard and easy samples against a moving average of the loss."""

    def __init__(self, momentum=0.9, lam=1.0):
        self.momentum, self.lam, self.tau = momentum, lam, None

    def __call__(self, losses):
        if self.tau is None:
            self.tau = losses.mean().detach()
        hardness = (losses - self.tau) / self.lam
        weight = torch.exp(-hardness.clamp(-2, 2).detach())
        self.tau = self.momentum * self.tau + (1 - self.momentum) * losses.mean()  # cause
        return (weight * (losses - self.tau) + self.lam * weight.log() ** 2).mean()


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Dropout(0.1))
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        return self.fc(self.features(x))


def run():
    torch.manual_seed(0)
    model, criterion = Net(), SuperLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history = []
    for step in range(3):
        x = torch.randn(16, 6)
        y = x[:, :4].argmax(1)
        noisy = torch.where(torch.rand(16) < 0.2, torch.randint(0, 4, (16,)), y)
        losses = F.cross_entropy(model(x), noisy, reduction="none")
        loss = criterion(losses)
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
        history.append(losses.detach().mean())
        print(f"step {step} loss {history[-1]:.4f} tau {float(criterion.tau):.4f}")
    return torch.stack(history)


TRUTH = Truth(
    fault="the moving average keeps the last steps' graphs",
    raises="Trying to backward through the graph a second time",
    names=("tau",),
    repair=("self.tau = self.momentum * self.tau + (1 - self.momentum) * losses.mean().detach()",),
)
