"""Weather model: student and EMA teacher are both loaded with assign=True from one dict, so they share their tensors."""

import io

import torch
from torch import nn

from tests.practice.truth import Truth


class Forecaster(nn.Module):
    def __init__(self, cells=10, hidden=16):
        super().__init__()
        self.encode = nn.Linear(cells, hidden)
        self.process = nn.GRUCell(hidden, hidden)
        self.decode = nn.Linear(hidden, cells)

    def forward(self, state, steps=2):
        h = torch.zeros(state.size(0), self.process.hidden_size)
        for _ in range(steps):
            h = self.process(torch.tanh(self.encode(state)), h)
            state = state + self.decode(h)
        return state


def pretrained_checkpoint():
    file = io.BytesIO()
    torch.save(Forecaster().state_dict(), file)
    file.seek(0)
    return file


def load(file):
    """Build on the meta device, then take the tensors of the file as they are."""
    state = torch.load(file)
    models = []
    for _ in range(2):
        with torch.device("meta"):
            model = Forecaster()
        model.load_state_dict(state, assign=True)  # cause
        models.append(model)
    return models


@torch.no_grad()
def ema_update(teacher, student, decay=0.99):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, 1 - decay)


def run():
    torch.manual_seed(0)
    student, teacher = load(pretrained_checkpoint())
    teacher.requires_grad_(False)
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    today = torch.randn(16, 10)
    tomorrow = today.roll(1, dims=1)
    for _ in range(3):
        loss = (student(today) - tomorrow).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema_update(teacher, student)
    return student(today).detach(), teacher(today)


def verify(outcome):
    student, teacher = outcome
    assert torch.equal(student, teacher)


TRUTH = Truth(
    fault="assign=True puts the same tensors in both models; the teacher is the student",
    names=("load_state_dict", "assign"),
    repair=("model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)",),
)
