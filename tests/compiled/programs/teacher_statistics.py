"""Distillation: a small student learns from a trained teacher, both compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the teacher stays in training mode, so distilling changes its running statistics and its answers",
    names=("teacher", "eval", "running statistics"),
    repair=("teacher.eval().requires_grad_(False)",),
)


def net(width):
    return nn.Sequential(nn.Linear(6, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 4))


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
def soft_loss(student_logits, teacher_logits, temperature):
    goal = torch.log_softmax(teacher_logits / temperature, -1)
    guess = torch.log_softmax(student_logits / temperature, -1)
    return nn.functional.kl_div(guess, goal, reduction="batchmean", log_target=True) * temperature**2


def run():
    teacher, student = net(32), net(8)
    optimizer = torch.optim.SGD(teacher.parameters(), lr=0.1)
    for _ in range(5):
        x, y = torch.randn(16, 6), torch.randint(4, (16,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(teacher(x), y).backward()
        optimizer.step()

    teacher.requires_grad_(False)  # cause
    before = {k: v.clone() for k, v in teacher.state_dict().items()}
    teach, learn = torch.compile(teacher, backend=BACKEND), torch.compile(student, backend=BACKEND)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    for _ in range(5):
        x = torch.randn(16, 6) * 2 + 3
        with torch.no_grad():
            goal = teach(x)  # symptom
        loss = soft_loss(learn(x), goal, 2.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, teacher.state_dict()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before["0.weight"], after["0.weight"])
    assert not torch.allclose(before["1.running_mean"], after["1.running_mean"])
    assert int(after["1.num_batches_tracked"]) == 10
