"""First-order MAML: each task learns on a deep copy, and the copy's gradients never come back to the meta-model."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, ways=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8, track_running_stats=False)
        self.fc = nn.Linear(8 * 9, ways)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.fc(x.flatten(1))


def sample_task(ways=3, shots=2, queries=3):
    proto = torch.randn(ways, 1, 6, 6)
    ys, yq = torch.arange(ways).repeat(shots), torch.arange(ways).repeat(queries)
    return (proto[ys] + 0.3 * torch.randn(len(ys), 1, 6, 6), ys), (proto[yq] + 0.3 * torch.randn(len(yq), 1, 6, 6), yq)


def adapt(model, support, steps=2, lr=0.05):
    learner = copy.deepcopy(model)  # also
    inner = torch.optim.SGD(learner.parameters(), lr=lr)
    x, y = support
    for _ in range(steps):
        inner.zero_grad()
        F.cross_entropy(learner(x), y).backward()
        inner.step()
    learner.zero_grad()
    return learner


def run():
    torch.manual_seed(0)
    model = Classifier()
    start = copy.deepcopy(model.state_dict())
    meta_opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for it in range(2):
        meta_opt.zero_grad()
        meta_loss = 0.0
        for _ in range(2):
            support, (xq, yq) = sample_task()
            learner = adapt(model, support)
            loss = F.cross_entropy(learner(xq), yq) / 2
            loss.backward()  # cause
            meta_loss += loss.item()
        meta_opt.step()
        print(f"iter {it} meta loss {meta_loss:.4f}")
    return model, start


def verify(out):
    model, start = out
    assert all(torch.equal(p, start[n]) for n, p in model.named_parameters())


TRUTH = Truth(
    fault="the query gradients stay on the copy: the meta-model is never updated",
    names=("model",),
    repair=(
        "loss.backward()\n"
        "for p, q in zip(model.parameters(), learner.parameters()):\n"
        "    p.grad = q.grad.clone() if p.grad is None else p.grad + q.grad",
    ),
)
