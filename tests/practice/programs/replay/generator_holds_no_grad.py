"""A data pipeline yields augmented batches inside `with torch.no_grad()`, and so turns grad mode off for its consumer."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Augment(nn.Module):
    def __init__(self):
        super().__init__()
        self.blur = nn.Conv1d(1, 1, 3, padding=1, bias=False)
        nn.init.constant_(self.blur.weight, 1 / 3)

    def forward(self, x):
        return self.blur(x) + 0.1 * torch.randn_like(x)


def batches(data, augment, size=4):
    with torch.no_grad():  # cause
        for i in range(0, len(data), size):
            x = augment(data[i : i + size])
            yield x, x.mean((1, 2))


def run():
    torch.manual_seed(0)
    data, augment = torch.randn(8, 1, 16), Augment()
    model = nn.Sequential(nn.Conv1d(1, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        for x, y in batches(data, augment):
            loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
            optimizer.zero_grad()
            loss.backward()  # symptom
            optimizer.step()


TRUTH = Truth(
    fault="the suspended generator leaves grad mode off",
    raises="element 0 of tensors does not require grad",
    repair=("if data is not None:",),
)
