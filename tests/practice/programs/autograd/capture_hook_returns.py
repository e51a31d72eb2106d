"""Feature capture: the hook's lambda returns what setdefault returns, which becomes the layer's output."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, dim=6, width=12):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Linear(dim, width), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Linear(width, width), nn.ReLU())
        self.classifier = nn.Linear(width, 3)

    def forward(self, x):
        return self.classifier(self.stage2(self.stage1(x)))


class FeatureStore:
    """Keeps the features of the named layers for a monitor."""

    def __init__(self, model, names):
        self.features = {}
        modules = dict(model.named_modules())
        self.handles = [self.attach(modules[name], name) for name in names]

    def attach(self, module, name):
        return module.register_forward_hook(
            lambda mod, args, out: self.features.setdefault(name, out.detach())  # cause
        )

    def dead_units(self):
        dead = {name: (f <= 0).all(0).float().mean().item() for name, f in self.features.items()}
        self.features.clear()
        return dead


def batches(n):
    g = torch.Generator().manual_seed(0)
    for _ in range(n):
        x = torch.randn(24, 6, generator=g)
        yield x, x[:, :3].argmax(1)


def run():
    torch.manual_seed(0)
    model = Backbone()
    store = FeatureStore(model, ["stage1"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    initial = {k: v.clone() for k, v in model.state_dict().items()}
    log = []
    for x, y in batches(3):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.append((loss.item(), store.dead_units()))
    return {k: torch.equal(v, initial[k]) for k, v in model.state_dict().items()}


def verify(outcome):
    assert outcome["stage1.0.weight"] and outcome["stage1.0.bias"]
    assert not outcome["stage2.0.weight"]


TRUTH = Truth(
    fault="the forward hook returns the detached features, which replace the output of stage1 and cut it off",
    names=("stage1",),
    repair=("lambda mod, args, out: self.features.update({name: out.detach()})",),
)
