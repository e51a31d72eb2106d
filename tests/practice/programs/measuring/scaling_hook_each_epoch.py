"""Layer-wise gradient scaling with a log: the hooks are registered anew each epoch and multiply."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Stack(nn.Module):
    def __init__(self, dim=6, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        for layer in self.layers:
            x = F.gelu(layer(x))
        return self.head(x)


class GradientScaling:
    """Lower layers get 1/2, 1/4 ... of their gradient; the raw norms are logged."""

    def __init__(self, model, factor=0.5):
        self.model, self.factor = model, factor
        self.log = {}
        self.handles = []

    def install(self):
        depth = len(self.model.layers)
        for i, layer in enumerate(self.model.layers):
            scale = self.factor ** (depth - i)
            for p in layer.parameters():
                self.handles.append(p.register_hook(self.hook(i, scale)))

    def hook(self, index, scale):
        def apply(grad):
            self.log.setdefault(index, []).append(grad.norm().item())
            return grad * scale

        return apply

    def on_epoch_start(self):
        self.log.clear()
        self.install()  # cause


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    ratio = (model.layers[-1].weight.grad.norm() / plain_norm(model, x, y)).item()
    optimizer.step()
    return ratio


def plain_norm(model, x, y):
    """Norm by a copy without hooks."""
    twin = Stack()
    twin.load_state_dict(model.state_dict())
    F.cross_entropy(twin(x), y).backward()
    return twin.layers[-1].weight.grad.norm()


def run():
    torch.manual_seed(0)
    model = Stack()
    scaling = GradientScaling(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ratios = []
    for epoch in range(3):
        scaling.on_epoch_start()
        x = torch.randn(16, 6)
        ratios.append(train_step(model, optimizer, x, (x[:, 0] > 0).long()))
    return ratios


def verify(outcome):
    assert [round(r, 3) for r in outcome] == [0.5, 0.25, 0.125]


TRUTH = Truth(
    fault="each epoch adds another scaling hook to each parameter without removing the old one",
    names=("register_hook",),
    repair=("if not self.handles:\n    self.install()",),
)
