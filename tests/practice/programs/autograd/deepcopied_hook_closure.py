"""Feature distillation: the copied teacher's hook still writes into the student's dictionary."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    """Remembers the features in front of its head."""

    def __init__(self, dim=6, width=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, width), nn.Tanh())
        self.head = nn.Linear(width, 3)
        self.features = {}
        self.watch()

    def watch(self):
        self.body.register_forward_hook(lambda m, args, out: self.features.update(body=out))

    def forward(self, x):
        return self.head(self.body(x))


def make_teacher(student):
    teacher = copy.deepcopy(student)  # cause
    teacher.requires_grad_(False).eval()
    return teacher


@torch.no_grad()
def follow(teacher, student, decay=0.5):
    for a, p in zip(teacher.parameters(), student.parameters()):
        a.lerp_(p, 1 - decay)


def augment(x):
    return x + 0.3 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    student = Net()
    teacher = make_teacher(student)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    consistency = []
    for _ in range(3):
        x = torch.randn(16, 6)
        loss = F.cross_entropy(student(augment(x)), x[:, :3].argmax(1))
        with torch.no_grad():
            teacher(augment(x))
        target = (teacher.features or student.features)["body"]
        extra = F.mse_loss(student.features["body"], target)
        consistency.append((extra.item(), extra.requires_grad))
        optimizer.zero_grad()
        (loss + extra).backward()
        optimizer.step()
        follow(teacher, student)
    return consistency


def verify(outcome):
    assert all(value == 0 and not attached for value, attached in outcome)


TRUTH = Truth(
    fault="deepcopy shares the hook's lambda, which is closed over the student: the teacher overwrites its features",
    names=("deepcopy",),
    repair=("teacher = Net()\nteacher.load_state_dict(student.state_dict())",),
)
