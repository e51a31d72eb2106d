"""Monitoring on a fixed random batch: manual_seed in the probe puts the training's random stream back each step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class DropNet(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.fc1 = nn.Linear(dim, 32)
        self.drop = nn.Dropout(0.5)
        self.fc2 = nn.Linear(32, 1)
        self.mask = None

    def forward(self, x):
        h = self.drop(torch.sigmoid(self.fc1(x)))
        if self.training:
            self.mask = h.detach() == 0
        return self.fc2(h).squeeze(-1)


class RepresentationMonitor:
    """Norm of the hidden layer's gradient on the same random inputs each time."""

    def __init__(self, model, seed=1234):
        self.model, self.seed = model, seed
        self.history = []

    def probe(self):
        torch.manual_seed(self.seed)  # cause
        return torch.randn(8, 6)

    def __call__(self):
        x = self.probe()
        self.model.eval()
        out = self.model(x).pow(2).mean()
        (grad,) = torch.autograd.grad(out, self.model.fc1.weight)
        self.history.append(grad.norm().item())
        self.model.train()


def run():
    torch.manual_seed(0)
    model = DropNet()
    monitor = RepresentationMonitor(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches, masks = [], []
    for _ in range(4):
        monitor()
        x = torch.randn(12, 6)
        optimizer.zero_grad()
        F.mse_loss(model(x), x.sum(1)).backward()
        optimizer.step()
        batches.append(x)
        masks.append(model.mask)
    same_batch = [torch.equal(batches[0], b) for b in batches[1:]]
    same_mask = [torch.equal(masks[0], m) for m in masks[1:]]
    return same_batch, same_mask


def verify(outcome):
    same_batch, same_mask = outcome
    assert all(same_batch) and all(same_mask)


TRUTH = Truth(
    fault="the probe reseeds the global generator each step: every step sees the same data and the same dropout mask",
    names=("manual_seed",),
    repair=("return torch.randn(8, 6, generator=torch.Generator().manual_seed(self.seed))",),
)
