"""Vision: feature distillation runs both networks again under no_grad, and the hooks' store then holds detached features."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Detector(nn.Module):
    def __init__(self, width, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU())
        self.neck = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.cls, self.box = nn.Conv2d(width, classes, 1), nn.Conv2d(width, 4, 1)

    def forward(self, x):
        h = self.neck(self.stem(x))
        return self.cls(h), self.box(h)


class FeatureStore:
    """Keeps what came out of the named layers in the last forward."""

    def __init__(self, model, layers):
        self.values = {}
        for name in layers:
            model.get_submodule(name).register_forward_hook(self._keep(name))

    def _keep(self, name):
        def hook(module, args, output):
            self.values[name] = output

        return hook


class Distiller(nn.Module):
    def __init__(self, teacher, student, layers, weight=5.0):
        super().__init__()
        self.teacher, self.student, self.weight = teacher.eval().requires_grad_(False), student, weight
        self.of_teacher, self.of_student = FeatureStore(teacher, layers), FeatureStore(student, layers)
        self.adapters = nn.ModuleDict({n: nn.Conv2d(6, 12, 1) for n in layers})

    def task_loss(self, x, labels):
        cls, box = self.student(x)
        return F.cross_entropy(cls, labels) + 0.1 * box.abs().mean()

    def feature_loss(self, x):
        with torch.no_grad():  # cause
            self.teacher(x)
            self.student(x)  # also
        pairs = [
            F.mse_loss(self.adapters[n](self.of_student.values[n]), self.of_teacher.values[n]) for n in self.adapters
        ]
        return self.weight * sum(pairs)


def share_of_distillation(distiller, x):
    loss = distiller.feature_loss(x)
    (g,) = torch.autograd.grad(loss, distiller.student.stem[0].weight, allow_unused=True)
    return 0.0 if g is None else g.abs().max().item()


def run():
    torch.manual_seed(0)
    distiller = Distiller(Detector(12), Detector(6), ["stem", "neck"])
    trained = [p for p in distiller.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3)
    adapter = distiller.adapters["neck"].weight.detach().clone()
    for _ in range(3):
        x, labels = torch.randn(4, 3, 8, 8), torch.randint(0, 3, (4, 4, 4))
        loss = distiller.task_loss(x, labels) + distiller.feature_loss(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learned = not torch.equal(adapter, distiller.adapters["neck"].weight)
    return learned, share_of_distillation(distiller, torch.randn(4, 3, 8, 8))


def verify(outcome):
    adapter_learned, share = outcome
    assert adapter_learned
    assert share == 0.0


TRUTH = Truth(
    fault="the student's features come from a forward under no_grad: the distillation loss trains the adapters only",
    names=("student", "no_grad"),
    repair=("if True:",),
)
