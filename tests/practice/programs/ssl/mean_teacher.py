"""Mean teacher: the averaged teacher is used in eval mode but its batch norm statistics are never carried over."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def conv_bn(i, o):
    return nn.Sequential(nn.Conv1d(i, o, 3, padding=1, bias=False), nn.BatchNorm1d(o), nn.ReLU())


class ConvNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(conv_bn(2, 8), conv_bn(8, 8))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.features(x).mean(-1))


class MeanTeacher:
    def __init__(self, student, decay=0.9):
        self.decay = decay
        self.teacher = copy.deepcopy(student)
        self.teacher.requires_grad_(False)
        self.teacher.eval()

    @torch.no_grad()
    def update(self, student):
        state, teacher_state = student.state_dict(keep_vars=True), self.teacher.state_dict(keep_vars=True)
        for name, value in teacher_state.items():
            if not isinstance(value, nn.Parameter):  # cause
                continue
            value.mul_(self.decay).add_(state[name], alpha=1 - self.decay)

    @torch.no_grad()
    def predict(self, x):
        return self.teacher(x).softmax(-1)


def consistency_weight(step, rampup=4):
    return min(1.0, (step + 1) / rampup)


def run():
    torch.manual_seed(0)
    student = ConvNet()
    mean_teacher = MeanTeacher(student)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for step in range(4):
        student.train()
        labelled, y = torch.randn(8, 2, 16) * 3 + 1, torch.randint(0, 3, (8,))
        unlabelled = torch.randn(16, 2, 16) * 3 + 1
        logits = student(torch.cat([labelled, unlabelled]))
        target = mean_teacher.predict(unlabelled + 0.1 * torch.randn_like(unlabelled))
        supervised = F.cross_entropy(logits[:8], y)
        consistency = F.mse_loss(logits[8:].softmax(-1), target)
        loss = supervised + consistency_weight(step) * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean_teacher.update(student)
    return student.features[0][1], mean_teacher.teacher.features[0][1]


def verify(outcome):
    student_bn, teacher_bn = outcome
    assert student_bn.running_mean.abs().max() > 0.01
    assert teacher_bn.running_mean.eq(0).all() and teacher_bn.running_var.eq(1).all()


TRUTH = Truth(
    fault="only parameters are averaged; the teacher normalises with running statistics of its birth",
    names=("running_mean", "running_var"),
    repair=("if not isinstance(value, nn.Parameter):\n    value.copy_(state[name])",),
)
