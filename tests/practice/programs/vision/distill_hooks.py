"""Distillation: the hooks of student and teacher write to the same keys, so the teacher is compared with itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvBlock(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class CNN(nn.Module):
    def __init__(self, depth, width=8, classes=5):
        super().__init__()
        blocks, channels = [], 3
        for i in range(depth):
            blocks.append(ConvBlock(channels, width))
            channels = width
        self.layer1, self.rest = blocks[0], nn.Sequential(*blocks[1:])
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        return self.fc(self.rest(self.layer1(x)).mean((2, 3)))


class FeatureRecorder:
    """Keeps the outputs of the named layers of a model."""

    def __init__(self):
        self.store, self.handles = {}, []

    def attach(self, model, layers, prefix):
        for name in layers:
            module = model.get_submodule(name)
            self.handles.append(module.register_forward_hook(self.recorder(prefix, name)))
        return self

    def recorder(self, prefix, name):
        def hook(module, inputs, output):
            self.store[name] = output  # cause

        return hook

    def __getitem__(self, key):
        prefix, _, name = key.partition("/")
        return self.store.get(key, self.store.get(name))

    def remove(self):
        for handle in self.handles:
            handle.remove()


class Distiller(nn.Module):
    def __init__(self, student, teacher, T=4.0, alpha=0.9, beta=1.0, layers=("layer1",)):
        super().__init__()
        self.student, self.teacher = student, teacher.eval().requires_grad_(False)
        self.T, self.alpha, self.beta, self.layers = T, alpha, beta, layers
        self.features = FeatureRecorder().attach(student, layers, "student").attach(teacher, layers, "teacher")
        self.last = {}

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x, y):
        out_s = self.student(x)
        with torch.no_grad():
            out_t = self.teacher(x)
        soft = (
            F.kl_div(F.log_softmax(out_s / self.T, 1), F.softmax(out_t / self.T, 1), reduction="batchmean") * self.T**2
        )
        hard = F.cross_entropy(out_s, y)
        hint = sum(
            F.mse_loss(self.features[f"student/{n}"], self.features[f"teacher/{n}"]) for n in self.layers
        )  # also
        self.last = {"soft": soft.item(), "hard": hard.item(), "hint": float(hint.detach())}
        return self.alpha * soft + (1 - self.alpha) * hard + self.beta * hint


def pretrain(model, batches):
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for x, y in batches:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model


def run():
    torch.manual_seed(23)
    batches = [(torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))) for _ in range(3)]
    teacher = pretrain(CNN(depth=3), batches)
    distiller = Distiller(CNN(depth=2), teacher)
    optimizer = torch.optim.SGD(distiller.student.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    hints = []
    distiller.train()
    for x, y in batches:
        loss = distiller(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hints.append(distiller.last["hint"])
    distiller.features.remove()
    return hints


def verify(hints):
    assert max(hints) == 0


TRUTH = Truth(
    fault="both hooks store under one key: the hint loss compares the teacher's features with themselves and trains nothing",
    names=("hook", "layer1"),
    repair=('self.store[f"{prefix}/{name}"] = output',),
)
