"""A probe of activation times gradient: the hook on each output closes over that output, which then never dies."""

import gc
import weakref
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class SqueezeFire(nn.Module):
    def __init__(self, cin, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(cin, squeeze, 1)
        self.e1, self.e3 = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return F.relu(torch.cat([self.e1(x), self.e3(x)], 1))


class LeafDiseaseNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.fire1, self.fire2 = SqueezeFire(8, 4, 6), SqueezeFire(12, 4, 8)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.fire2(self.fire1(F.relu(self.stem(x)))).mean((2, 3)))


class TaylorImportance:
    """The first-order importance of each channel: |activation * gradient|, averaged over the batch."""

    def __init__(self, model, layers):
        self.scores = defaultdict(list)
        self.outputs = []
        modules = dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self.hook_for(name)) for name in layers]

    def hook_for(self, name):
        def forward_hook(module, args, output):
            if not output.requires_grad:
                return
            self.outputs.append(weakref.ref(output))
            activation = output  # cause
            output.register_hook(  # also
                lambda grad: self.scores[name].append((activation * grad).detach().abs().mean((0, 2, 3)))
            )

        return forward_hook

    def close(self):
        for handle in self.handles:
            handle.remove()


def train(model, probe, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for _ in range(steps):
        images, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 4, (4,))
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = LeafDiseaseNet()
    probe = TaylorImportance(model, ["fire1", "fire2"])
    train(model, probe, steps=4)
    probe.close()
    gc.collect()
    alive = sum(ref() is not None for ref in probe.outputs)
    return alive, {name: torch.stack(s).mean(0) for name, s in probe.scores.items()}


def verify(outcome):
    alive, scores = outcome
    assert alive >= 6 and len(scores) == 2, alive


TRUTH = Truth(
    fault="a tensor whose hook refers to it is a cycle through the graph: the outputs of all steps stay in memory",
    names=("hook",),
    repair=("activation = output.detach()",),
)
