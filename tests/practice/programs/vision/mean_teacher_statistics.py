"""Semi-supervised: the teacher averages parameters only and runs in eval(), so its BatchNorm statistics are those of the untrained net for ever."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 12, 3, 2, 1), nn.BatchNorm2d(12)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        x = F.leaky_relu(self.bn1(self.conv1(x)), 0.1)
        x = F.leaky_relu(self.bn2(self.conv2(x)), 0.1)
        return self.fc(self.drop(x.mean((2, 3))))


def sigmoid_rampup(current, rampup_length):
    if rampup_length == 0:
        return 1.0
    phase = 1.0 - max(0.0, min(current, rampup_length)) / rampup_length
    return math.exp(-5.0 * phase * phase)


def averaged(module):
    """Everything of a network that the teacher has to follow."""
    return list(module.parameters())  # cause


class MeanTeacher:
    def __init__(self, model, ema_decay=0.99):
        self.student = model
        self.teacher = copy.deepcopy(model).eval()
        for param in self.teacher.parameters():
            param.detach_()
        self.ema_decay, self.global_step = ema_decay, 0

    @torch.no_grad()
    def update_ema_variables(self):
        self.global_step += 1
        alpha = min(1 - 1 / (self.global_step + 1), self.ema_decay)
        for ema_t, t in zip(averaged(self.teacher), averaged(self.student)):
            if ema_t.dtype.is_floating_point:
                ema_t.mul_(alpha).add_(t, alpha=1 - alpha)
            else:
                ema_t.copy_(t)

    def predict(self, x):
        with torch.no_grad():
            return self.teacher(x)


def softmax_mse_loss(input_logits, target_logits):
    return F.mse_loss(F.softmax(input_logits, 1), F.softmax(target_logits, 1), reduction="sum") / input_logits.size(1)


def transform_twice(x):
    return x + 0.15 * torch.randn_like(x), (x + 0.15 * torch.randn_like(x)).flip(-1)


def train(mt, loader, optimizer, epoch, consistency=10.0):
    mt.student.train()
    for x, y in loader:
        inp, ema_inp = transform_twice(x)
        ema_logit = mt.predict(ema_inp)
        logit = mt.student(inp)
        class_loss = F.cross_entropy(logit, y, reduction="sum", ignore_index=-1) / len(y)
        weight = consistency * sigmoid_rampup(epoch, 3)
        loss = class_loss + weight * softmax_mse_loss(logit, ema_logit) / len(y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mt.update_ema_variables()
    return loss.item()


@torch.no_grad()
def validate(model, loader):
    training = model.training
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train(training)
    return hits


def run():
    torch.manual_seed(0)
    loader = []
    for _ in range(2):
        y = torch.randint(0, 4, (12,))
        y[6:] = -1
        loader.append((torch.randn(12, 3, 8, 8) * 2 + 1, y))
    mt = MeanTeacher(ConvNet())
    optimizer = torch.optim.SGD(mt.student.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    start = mt.teacher.bn1.running_mean.clone()
    for epoch in range(2):
        train(mt, loader, optimizer, epoch)
        validate(mt.student, loader), validate(mt.teacher, loader)
    return start, mt.teacher.bn1.running_mean, mt.student.bn1.running_mean


def verify(outcome):
    start, teacher, student = outcome
    assert torch.equal(start, teacher) and not torch.equal(teacher, student)


TRUTH = Truth(
    fault="the teacher's running statistics are never updated (averaging takes parameters only, teacher is in eval)",
    names=("running_mean", "teacher"),
    repair=("return list(module.parameters()) + list(module.buffers())",),
)
