"""A loop over augmentations to vmap: `params = {n: p.detach()}` was copied from the per-sample-gradient recipe; .backward() stops at the copies."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Extractor(nn.Module):
    def __init__(self, features=6, dim=10):
        super().__init__()
        self.fc1 = nn.Linear(features, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.tanh(self.fc2(F.relu(self.fc1(x))))


class ViewClassifier(nn.Module):
    """Classifies the mean of the features of several views."""

    def __init__(self, classes=3):
        super().__init__()
        self.extractor = Extractor()
        self.head = nn.Linear(10, classes)

    def features(self, views):
        params = {name: p.detach() for name, p in self.extractor.named_parameters()}  # cause

        def one(view):
            return functional_call(self.extractor, params, (view,))

        return torch.vmap(one)(views).mean(dim=0)

    def forward(self, views):
        return self.head(self.features(views))


def make_views(x, count=4):
    return x + 0.1 * torch.randn(count, *x.shape)


def run():
    torch.manual_seed(0)
    model = ViewClassifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    before = model.extractor.fc1.weight.detach().clone()
    for _ in range(3):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(make_views(x)), y).backward()
        optimizer.step()
    return before, model.extractor.fc1.weight, model.head.weight


def verify(outcome):
    before, inner, outer = outcome
    assert inner.grad is None and torch.equal(before, inner.detach()) and outer.grad is not None


TRUTH = Truth(
    fault="the functional call runs on detached copies of the extractor's parameters, which get no gradient",
    names=("extractor",),
    repair=("params = dict(self.extractor.named_parameters())",),
)
