"""Feature distillation: student and teacher hooks write into one dictionary under one name; the hint compares teacher with teacher."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def resnetish(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 8, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
    )


class FeatureGrabber:
    features = {}  # cause

    def __init__(self, model, layers):
        modules = dict(model.named_modules())
        self.handles = [modules[name].register_forward_hook(self._hook(name)) for name in layers]

    def _hook(self, name):
        def hook(module, args, output):
            self.features[name] = output

        return hook

    def __getitem__(self, name):
        return self.features[name]


class Distiller:
    def __init__(self, student, teacher, layer="3", T=4.0, hint=10.0):
        self.student, self.teacher, self.layer = student, teacher.eval().requires_grad_(False), layer
        self.s_feat, self.t_feat = FeatureGrabber(student, [layer]), FeatureGrabber(teacher, [layer])
        self.T, self.hint = T, hint

    def loss(self, x, y):
        logits = self.student(x)
        with torch.no_grad():
            t_logits = self.teacher(x)
        kd = (
            F.kl_div(
                F.log_softmax(logits / self.T, 1),
                F.log_softmax(t_logits / self.T, 1),
                reduction="batchmean",
                log_target=True,
            )
            * self.T**2
        )
        hint = F.mse_loss(self.s_feat[self.layer], self.t_feat[self.layer])  # also
        return F.cross_entropy(logits, y) + kd + self.hint * hint, hint.item()


def run():
    torch.manual_seed(0)
    student, teacher = resnetish(6), resnetish(16)
    distiller = Distiller(student, teacher)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    hints = []
    for _ in range(3):
        student.train()
        loss, hint = distiller.loss(torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hints.append(hint)
    return hints


def verify(outcome):
    assert outcome == [0.0, 0.0, 0.0]


TRUTH = Truth(
    fault="features is one class attribute: the teacher's hook overwrites the student's entry and the hint loss is 0 without a gradient",
    names=("features",),
    repair=("features = property(lambda self: self.__dict__.setdefault('_features', {}))",),
)
