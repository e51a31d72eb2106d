"""AG109: the model that computes the targets has parameters in common with the one that is trained."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

DATA = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self, body, head):
        super().__init__()
        self.body, self.head = body, head

    def forward(self, x):
        return self.head(self.body(x).tanh())


def distilled(teacher, student):
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for x in DATA:
        with torch.no_grad():
            target = teacher(x + 1)
        optimizer.zero_grad()
        F.mse_loss(student(x), target).backward()
        optimizer.step()


def test_student_that_begins_with_the_layers_of_its_teacher():
    """The line that puts a layer of the teacher into the student; a copy of it is the student's own."""

    def program(take):
        teacher = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        student = Net(take(teacher.body), nn.Linear(4, 1))
        distilled(teacher, student)

    report = inspected(lambda: program(lambda layer: layer))
    (found,) = [each for each in report.findings if each.rule == "AG109"]
    assert found.severity == "info", "a part may be shared on purpose"
    assert "self.body, self.head = body, head" in found.locations[0].source
    assert "body.weight" in found.message
    calm(lambda: program(copy.deepcopy))


def test_target_network_that_is_a_shallow_copy():
    """`copy.copy` shares the parameters."""

    def program(copied):
        online = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        target = copied(online)
        optimizer = torch.optim.Adam(online.parameters())
        for x in DATA:
            with torch.no_grad():
                value = 0.9 * target(x + 1)
            optimizer.zero_grad()
            F.smooth_l1_loss(online(x), value).backward()
            optimizer.step()

    def shallow():
        online = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        target = copy.copy(online)
        optimizer = torch.optim.Adam(online.parameters())
        for x in DATA:
            with torch.no_grad():
                value = 0.9 * target(x + 1)
            optimizer.zero_grad()
            F.smooth_l1_loss(online(x), value).backward()
            optimizer.step()

    diagnosed(shallow, "AG109", "target = copy.copy(online)", "target", "online", severity="warning")
    calm(lambda: program(copy.deepcopy))


def test_actor_on_the_encoder_of_its_critic():
    """The next action is chosen with the shared encoder; the target's numbers come from a copy of the critic."""

    def program():
        encoder = nn.Linear(4, 4)
        actor, critic = Net(encoder, nn.Linear(4, 1)), Net(encoder, nn.Linear(4, 2))
        slow = copy.deepcopy(critic).requires_grad_(False)
        optimizer = torch.optim.Adam(critic.parameters())
        for x in DATA:
            with torch.no_grad():
                action = (actor(x + 1) > 0).long()
                target = slow(x + 1).gather(1, action)
            optimizer.zero_grad()
            F.mse_loss(critic(x)[:, :1], target).backward()
            optimizer.step()

    calm(program)
