"""'Every iteration is slower': the running loss is what backward is called on, with retain_graph=True to silence the error."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class LinearProbe(nn.Module):
    """One linear layer over fixed random features."""

    def __init__(self, n_in=4, n_feat=16, n_out=3):
        super().__init__()
        self.register_buffer("proj", torch.randn(n_in, n_feat))
        self.fc = nn.Linear(n_feat, n_out)

    def forward(self, x):
        with torch.no_grad():
            f = torch.relu(x @ self.proj)
        return self.fc(f)


def get_batch(g, n=8):
    x = torch.randn(n, 4, generator=g)
    return x, x[:, :3].argmax(1)


def true_gradient(model, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    return torch.autograd.grad(loss, model.fc.weight)[0]


def train(model, optimizer, n_iter):
    g = torch.Generator().manual_seed(0)
    criterion = nn.CrossEntropyLoss()
    total_loss = 0
    gaps = []
    for i in range(n_iter):
        x, y = get_batch(g)
        optimizer.zero_grad()
        total_loss = total_loss + criterion(model(x), y)  # cause
        total_loss.backward(retain_graph=True)  # also
        gaps.append((model.fc.weight.grad - true_gradient(model, x, y)).norm().item())
        optimizer.step()
    print_avg = float(total_loss) / n_iter
    return gaps, print_avg


def run():
    torch.manual_seed(0)
    model = LinearProbe()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return train(model, optimizer, 4)


def verify(outcome):
    gaps, _ = outcome
    assert gaps[0] < 1e-6
    assert all(g > 1e-3 for g in gaps[1:]), gaps


TRUTH = Truth(
    fault="the loss is summed over the iterations and never reset, so each backward goes again through all former graphs",
    names=("total_loss", "retain_graph"),
    repair=("total_loss = criterion(model(x), y)",),
)
