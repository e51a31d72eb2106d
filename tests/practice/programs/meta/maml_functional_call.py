"""MAML with functional_call: the fast weights carry names with underscores; functional_call does not know them."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class Learner(nn.Module):
    def __init__(self, dim=6, hidden=16):
        super().__init__()
        self.scale = nn.Linear(dim, dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(self.scale(x)))).squeeze(-1)


class MAML:
    def __init__(self, model, inner_lr=0.1, outer_lr=1e-2):
        self.model, self.inner_lr = model, inner_lr
        self.opt = torch.optim.Adam(model.parameters(), lr=outer_lr)

    def adapt(self, x, y, steps=1):
        fast = {n.replace(".", "_"): p for n, p in self.model.named_parameters()}  # cause
        for _ in range(steps):
            loss = F.mse_loss(functional_call(self.model, fast, (x,)), y)  # also
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: p - self.inner_lr * g for (n, p), g in zip(fast.items(), grads)}
        return fast

    def outer_step(self, tasks):
        self.opt.zero_grad()
        total = 0.0
        for (xs, ys), (xq, yq) in tasks:
            fast = self.adapt(xs, ys)
            loss = F.mse_loss(functional_call(self.model, fast, (xq,)), yq) / len(tasks)  # also
            loss.backward()
            total += loss.item()
        self.opt.step()
        return total


def make_task():
    w = torch.randn(6)
    draw = lambda: (x := torch.randn(8, 6), x @ w)
    return draw(), draw()


def run():
    torch.manual_seed(0)
    maml = MAML(Learner())
    for it in range(3):
        print(it, round(maml.outer_step([make_task() for _ in range(2)]), 4))
    return maml


def verify(maml):
    (xs, ys), (xq, _) = make_task()
    adapted = functional_call(maml.model, maml.adapt(xs, ys), (xq,))
    assert torch.equal(adapted, maml.model(xq))  # adapting changes nothing


TRUTH = Truth(
    fault="functional_call ignores names that it does not know: the inner loop has no effect",
    names=("functional_call",),
    repair=("fast = dict(self.model.named_parameters())",),
)
