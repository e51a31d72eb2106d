"""'My weights do not change': the losses of the heads are put into a fresh torch.tensor(..., requires_grad=True)."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

HEADS = ("colour", "shape", "size")


class MultiHead(nn.Module):
    def __init__(self, n_in, n_class):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(n_in, 16), nn.ReLU())
        self.heads = nn.ModuleDict({h: nn.Linear(16, n_class) for h in HEADS})

    def forward(self, x):
        h = self.base(x)
        return {name: head(h) for name, head in self.heads.items()}


class TotalLoss:
    def __init__(self, weights):
        self.weights = weights
        self.ce = nn.CrossEntropyLoss()

    def __call__(self, outputs, labels):
        parts = [w * self.ce(outputs[h], labels[h]) for h, w in zip(HEADS, self.weights)]
        # RuntimeError: element 0 of tensors does not require grad -> added requires_grad
        return torch.tensor(parts, requires_grad=True).mean()  # cause


def toy_batch(n=9):
    x = torch.randn(n, 7)
    labels = {h: (x[:, i] > 0).long() for i, h in enumerate(HEADS)}
    return x, labels


def run():
    torch.manual_seed(31)
    model = MultiHead(7, 2)
    loss_fn = TotalLoss((1.0, 0.5, 2.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    curve = []
    for epoch in range(3):
        x, labels = toy_batch()
        optimizer.zero_grad()
        loss = loss_fn(model(x), labels)
        loss.backward()
        optimizer.step()
        curve.append(float(loss))
    after = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    return before, after, curve


def verify(outcome):
    before, after, curve = outcome
    assert len(curve) == 3
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="torch.tensor(parts) copies the values into a new leaf; backward ends there and no parameter gets a gradient",
    names=("torch.tensor",),
    repair=("return torch.stack(parts).mean()",),
)
