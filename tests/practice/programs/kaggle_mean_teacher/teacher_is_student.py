"""Mean teacher: the teacher is an alias of the student, so the consistency loss compares the model with itself."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class cfg:
    lr = 1e-2
    ema = 0.95
    w_cons = 5.0
    steps = 4
    noise = 0.0


class WaveNetLite(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 6, 3, padding=1)
        self.c2 = nn.Conv1d(6, 6, 3, padding=2, dilation=2)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        x = F.gelu(self.c1(x))
        x = x + F.gelu(self.c2(x))
        return self.fc(x.mean(-1))


def make_teacher(student):
    teacher = student  # cause
    teacher.eval()
    return teacher


@torch.no_grad()
def ema_update(teacher, student, decay):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(decay).add_(s, alpha=1 - decay)


def train_step(student, teacher, opt, labelled, unlabelled):
    x, y = labelled
    sup = F.cross_entropy(student(x), y)
    with torch.no_grad():
        target = teacher(unlabelled).softmax(-1)
    view = unlabelled + cfg.noise * torch.randn_like(unlabelled)
    cons = F.mse_loss(student(view).softmax(-1), target)
    opt.zero_grad()
    (sup + cfg.w_cons * cons).backward()
    opt.step()
    ema_update(teacher, student, cfg.ema)
    return cons.item()


def run():
    torch.manual_seed(2)
    student = WaveNetLite()
    teacher = make_teacher(student)
    student.train()
    opt = torch.optim.Adam(student.parameters(), lr=cfg.lr)
    cons = []
    for _ in range(cfg.steps):
        x = torch.randn(9, 1, 12).cumsum(-1)
        cons.append(train_step(student, teacher, opt, (x, torch.arange(9) % 3), torch.randn(9, 1, 12)))
    return cons


def verify(cons):
    assert max(cons) == 0, cons


TRUTH = Truth(
    fault="teacher = student makes no copy; the consistency loss is always zero and there is no averaged model",
    names=("teacher",),
    repair=("teacher = WaveNetLite().requires_grad_(False)\nteacher.load_state_dict(student.state_dict())",),
)
