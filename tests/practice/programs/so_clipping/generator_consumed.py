"""Exploding RNN: "gradient clipping has no effect": model.parameters() is one generator that the optimizer has already used up."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth

MAX_NORM = 0.25


class AddingProblem:
    """Two marked numbers of a sequence are to be added."""

    def __init__(self, length, seed=0):
        self.length = length
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, n):
        values = torch.rand(n, self.length, generator=self.g)
        marks = torch.zeros(n, self.length)
        where = torch.rand(n, self.length, generator=self.g).topk(2, dim=1).indices
        marks.scatter_(1, where, 1.0)
        return torch.stack([values, marks], -1), (values * marks).sum(1)


class Net(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(1.2 * torch.eye(hidden))

    def forward(self, x):
        _, h = self.rnn(x)
        return self.out(h[-1]).squeeze(-1)


def grad_norm(model):
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()


def run():
    torch.manual_seed(5)
    task = AddingProblem(12)
    model = Net()
    params = model.parameters()  # cause
    optimizer = torch.optim.SGD(params, lr=1e-3)  # also
    criterion = nn.MSELoss()
    norms = []
    for step in range(4):
        x, y = task.batch(10)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(params, MAX_NORM)  # also
        norms.append(grad_norm(model))
        optimizer.step()
    return norms


def verify(norms):
    assert all(n > 2 * MAX_NORM for n in norms), norms


TRUTH = Truth(
    fault="params is a generator; the optimizer has used it up, so clip_grad_norm_ gets no parameter and clips nothing",
    names=("clip_grad_norm_",),
    repair=("params = list(model.parameters())",),
)
