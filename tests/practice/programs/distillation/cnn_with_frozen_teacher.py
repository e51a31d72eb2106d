"""Distillation: the teacher runs in inference mode, its logits are cloned out of it, and only the student learns."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def cnn(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, 5),
    )


def kd_loss(student_logits, teacher_logits, labels, T=4.0, alpha=0.9):
    soft = (
        F.kl_div(F.log_softmax(student_logits / T, 1), F.softmax(teacher_logits / T, 1), reduction="batchmean") * T * T
    )
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_logits, labels)


def run():
    torch.manual_seed(0)
    teacher, student = cnn(12), cnn(4)
    teacher.eval()
    running = teacher[1].running_mean.clone()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 2], 0.1)
    meter = {"loss": 0.0, "agree": 0.0, "n": 0}
    for epoch in range(3):
        student.train()
        for _ in range(2):
            x, y = torch.randn(6, 1, 6, 6), torch.randint(5, (6,))
            with torch.inference_mode():
                t = teacher(x)
            s = student(x)
            loss = kd_loss(s, t.clone(), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter["loss"] += loss.detach().item() * len(x)
            meter["agree"] += (s.detach().argmax(1) == t.argmax(1)).sum().item()
            meter["n"] += len(x)
        scheduler.step()
    student.eval()
    with torch.no_grad():
        final = student(torch.randn(4, 1, 6, 6))
    return teacher, running, student, meter, final


TRUTH = Truth()


def verify(out):
    teacher, running, student, meter, final = out
    assert torch.equal(running, teacher[1].running_mean)
    assert all(p.grad is None for p in teacher.parameters())
    assert all(p.grad is not None for p in student.parameters())
    assert not final.requires_grad and 0 < meter["loss"] / meter["n"] < 100
