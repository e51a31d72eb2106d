"""Transfer learning with layers that are thawed one stage after the other."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(self.body(self.stem(x)).mean((2, 3)))


class Unfreezer:
    def __init__(self, model, plan, lr=1e-2, factor=0.3):
        self.model, self.plan, self.lr, self.factor = model, dict(plan), lr, factor
        self.frozen = {"stem", "body"}
        for name in self.frozen:
            getattr(model, name).requires_grad_(False)
        self.opt = torch.optim.SGD(model.fc.parameters(), lr=lr, momentum=0.9)

    def on_epoch(self, epoch):
        name = self.plan.get(epoch)
        if name:
            self.lr *= self.factor
            part = getattr(self.model, name).requires_grad_(True)
            self.opt.add_param_group({"params": list(part.parameters()), "lr": self.lr})
            self.frozen.discard(name)
        self.model.train()
        for name in self.frozen:
            getattr(self.model, name).eval()

    def fit(self, epochs, loader):
        trace = []
        for epoch in range(epochs):
            self.on_epoch(epoch)
            before = {k: v.clone() for k, v in self.model.state_dict().items()}
            for x, y in loader:
                loss = F.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            trace.append({k.split(".")[0] for k, v in self.model.state_dict().items() if not torch.equal(v, before[k])})
        return trace


def run():
    torch.manual_seed(0)
    loader = [(torch.randn(6, 3, 8, 8), torch.randint(0, 3, (6,))) for _ in range(2)]
    return Unfreezer(Pretrained(), {1: "body", 2: "stem"}).fit(3, loader)


TRUTH = Truth()


def verify(out):
    assert out == [{"fc"}, {"fc", "body"}, {"fc", "body", "stem"}]
