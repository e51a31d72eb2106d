"""Distillation: the teacher is a submodule of the student, so the optimizer trains the teacher as well."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class ConvNet(nn.Module):
    def __init__(self, width, n_classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.conv = nn.Conv2d(width, width, 3, 1, 1)
        self.fc = nn.Linear(width, n_classes)

    def forward(self, x):
        x = F.relu(self.conv(F.relu(self.stem(x))))
        return self.fc(x.mean((2, 3)))


class DistilledNet(ConvNet):
    def __init__(self, width, teacher, temperature=4.0, alpha=0.9):
        super().__init__(width)
        self.teacher = teacher  # also
        self.temperature, self.alpha = temperature, alpha

    def kd_loss(self, x, logits):
        t = self.temperature
        soft = F.softmax(self.teacher(x) / t, dim=1)  # cause
        return F.kl_div(F.log_softmax(logits / t, dim=1), soft, reduction="batchmean") * t * t

    def loss(self, x, y):
        logits = self(x)
        return self.alpha * self.kd_loss(x, logits) + (1 - self.alpha) * F.cross_entropy(logits, y)


def run():
    torch.manual_seed(0)
    teacher = ConvNet(16).eval()
    start = {k: v.clone() for k, v in teacher.state_dict().items()}
    student = DistilledNet(4, teacher)
    opt = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, nesterov=True)  # also
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [2])
    for epoch in range(3):
        x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 5, (4,))
        loss = student.loss(x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        with torch.no_grad():
            agree = (student(x).argmax(1) == teacher(x).argmax(1)).float().mean().item()
        print(f"epoch {epoch}: {loss.item():.4f} agreement {agree:.2f}")
    return teacher, start


def verify(out):
    teacher, start = out
    assert not torch.equal(teacher.stem.weight, start["stem.weight"])


TRUTH = Truth(
    fault="the teacher gets gradients and is optimized",
    names=("teacher",),
    repair=("with torch.no_grad():\n    soft = F.softmax(self.teacher(x) / t, dim=1)",),
)
