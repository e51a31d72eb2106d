"""Layer-wise rates by hooks on the gradients: each hook reads its factor when it runs, after the loop has ended."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim, layer_scale=0.1):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm, self.pw = nn.LayerNorm(dim), nn.Linear(dim, dim)
        self.gamma = nn.Parameter(layer_scale * torch.ones(dim))

    def forward(self, x):
        h = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        return x + (self.gamma * F.gelu(self.pw(h))).permute(0, 3, 1, 2)


class HistologyClassifier(nn.Module):
    def __init__(self, dim=8, depth=4, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, 4)
        self.stages = nn.ModuleList(ConvNeXtBlock(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


def layer_id(name, depth):
    if name.startswith("stem"):
        return 0
    return int(name.split(".")[1]) + 1 if name.startswith("stages") else depth + 1


def attach_layer_decay(model, decay=0.5):
    """Scale the gradient of each parameter by its depth, for an optimizer without groups."""
    depth = len(model.stages)
    handles = []
    for name, param in model.named_parameters():
        scale = decay ** (depth + 1 - layer_id(name, depth))
        handles.append(param.register_hook(lambda grad: grad * scale))  # cause
    return handles


def train(model, optimizer, batches):
    model.train()
    first = None
    for images, labels in batches:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        if first is None:
            first = {n: p.grad.clone() for n, p in model.named_parameters()}
        optimizer.step()
    return first


def run():
    torch.manual_seed(0)
    batches = [(torch.randn(4, 3, 16, 16), torch.randint(0, 3, (4,))) for _ in range(3)]
    model = HistologyClassifier()
    names, params = zip(*model.named_parameters())
    plain = dict(zip(names, torch.autograd.grad(F.cross_entropy(model(batches[0][0]), batches[0][1]), params)))
    attach_layer_decay(model)
    scaled = train(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), batches)
    return (scaled["stem.weight"].norm() / plain["stem.weight"].norm()).item()


def verify(ratio):
    assert abs(ratio - 1) < 1e-3, ratio


TRUTH = Truth(
    fault="the lambdas close over the loop's variable: all of them use the head's factor, which is one",
    names=("register_hook", "hook"),
    repair=("handles.append(param.register_hook(lambda grad, scale=scale: grad * scale))",),
)
