"""Distillation: student and teacher now share one hook, which detaches what it stores."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class KDConfig:
    num_classes: int = 5
    temperature: float = 4.0
    alpha_kd: float = 0.5
    beta_feat: float = 1.0
    lr: float = 0.05
    taps: tuple = ("layer1", "layer2")
    steps: int = 3


class ConvNet(nn.Module):
    def __init__(self, width, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.layer1 = self.stage(width, width)
        self.layer2 = self.stage(width, 2 * width)
        self.fc = nn.Linear(2 * width, num_classes)

    @staticmethod
    def stage(cin, cout):
        return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())

    def forward(self, x):
        x = self.layer2(self.layer1(F.relu(self.conv1(x))))
        return self.fc(x.mean((2, 3)))


class FeatureTap:
    """Collects the outputs of the named modules, for any network."""

    def __init__(self, model, names):
        self.features = {}
        self.handles = [model.get_submodule(n).register_forward_hook(self.make_hook(n)) for n in names]

    def make_hook(self, name):
        def hook(module, inputs, output):
            self.features[name] = output.detach()  # cause

        return hook

    def clear(self):
        self.features.clear()


class Connector(nn.Module):
    """1x1 convolutions from the student's widths to the teacher's."""

    def __init__(self, student_width, teacher_width):
        super().__init__()
        self.proj = nn.ModuleDict(
            {
                "layer1": nn.Conv2d(student_width, teacher_width, 1),
                "layer2": nn.Conv2d(2 * student_width, 2 * teacher_width, 1),
            }
        )

    def forward(self, name, x):
        return self.proj[name](x)


class Distiller:
    def __init__(self, cfg, student, teacher, connector):
        self.cfg, self.student, self.teacher, self.connector = cfg, student, teacher, connector
        self.teacher.eval().requires_grad_(False)
        self.tap_s, self.tap_t = FeatureTap(student, cfg.taps), FeatureTap(teacher, cfg.taps)
        params = list(student.parameters()) + list(connector.parameters())
        self.optimizer = torch.optim.SGD(params, lr=cfg.lr, momentum=0.9)

    def kd_loss(self, s, t):
        T = self.cfg.temperature
        return F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T

    def feature_loss(self):
        total = 0
        for name in self.cfg.taps:
            s, t = self.connector(name, self.tap_s.features[name]), self.tap_t.features[name]
            total = total + F.mse_loss(s, t)
        return total

    def losses(self, x, y):
        with torch.no_grad():
            t_logits = self.teacher(x)
        s_logits = self.student(x)
        ce = F.cross_entropy(s_logits, y)
        return ce + self.cfg.alpha_kd * self.kd_loss(s_logits, t_logits), self.cfg.beta_feat * self.feature_loss()

    def train_step(self, x, y):
        self.student.train()
        base, feat = self.losses(x, y)
        weight = self.student.layer1[0].weight
        grad = torch.autograd.grad(feat, weight, retain_graph=True, allow_unused=True)[0]
        self.optimizer.zero_grad()
        (base + feat).backward()
        self.optimizer.step()
        self.tap_s.clear(), self.tap_t.clear()
        return 0.0 if grad is None else grad.norm().item()


def run():
    torch.manual_seed(0)
    cfg = KDConfig()
    student, teacher = ConvNet(4, cfg.num_classes), ConvNet(8, cfg.num_classes)
    distiller = Distiller(cfg, student, teacher, Connector(4, 8))
    return [distiller.train_step(torch.randn(8, 3, 12, 12), torch.randint(5, (8,))) for _ in range(cfg.steps)]


def verify(norms):
    assert norms == [0.0, 0.0, 0.0]


TRUTH = Truth(
    fault="the shared hook detaches the student's features as well: the feature loss trains only the connector",
    names=("layer1",),
    minor=True,
    repair=("self.features[name] = output",),
)
