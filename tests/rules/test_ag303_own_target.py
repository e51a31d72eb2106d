"""AG303: networks that are their own targets."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

DATA = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


def student():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def distilled(net, teacher, loss):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in DATA:
        with torch.no_grad():
            target = teacher(x)
        optimizer.zero_grad()
        loss(net(x), target).backward()
        optimizer.step()


def divergence(scores, target, temperature=2.0):
    return F.kl_div((scores / temperature).log_softmax(-1), (target / temperature).softmax(-1), reduction="batchmean")


def test_teacher_that_is_the_student():
    """The line that gives the model its second name comes first; a copy with weights of its own teaches something."""

    def program(loss, copied=False):
        net = student()
        teacher = copy.deepcopy(net) if copied else net
        if copied:
            nn.init.normal_(teacher[0].weight)
        distilled(net, teacher, loss)

    found = diagnosed(
        lambda: program(F.mse_loss), "AG303", "target = teacher(x)", "mse_loss", severity="warning", where=distilled
    )
    assert "gradient is zero" in found.message
    diagnosed(
        lambda: program(divergence), "AG303", "target = teacher(x)", "kl_div", severity="warning", where=distilled
    )
    calm(lambda: program(F.mse_loss, copied=True), lambda: program(divergence, copied=True))


def test_second_name_of_a_model():
    """`self.old = self.model` is what to edit."""

    class Learner:
        def __init__(self, model):
            self.model = model
            self.old = self.model

        def loss(self, x):
            with torch.no_grad():
                target = self.old(x)
            return F.mse_loss(self.model(x), target)

    def program():
        learner = Learner(student())
        optimizer = torch.optim.SGD(learner.model.parameters(), lr=0.1)
        for x in DATA:
            optimizer.zero_grad()
            learner.loss(x).backward()
            optimizer.step()

    found = diagnosed(program, "AG303", "self.old = self.model", severity="warning", where=Learner.__init__)
    assert "copy.deepcopy(self.model).requires_grad_(False)" in found.edits[-1].text


def test_old_policies_and_other_views():
    """A policy is its old self in the first of several steps; dropout and noise make two views of one input."""

    def policy():
        net = student()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in DATA:
            with torch.no_grad():
                old = net(x).log_softmax(-1)
            for _ in range(2):
                new = net(x).log_softmax(-1)
                loss = -(new - old)[:, 0].exp().mean() + F.kl_div(new, old, log_target=True, reduction="batchmean")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def noise():
        net = student()
        distilled(net, lambda x: net(x + 0.1 * torch.randn_like(x)), F.mse_loss)

    def dropout():
        net = student().insert(1, nn.Dropout(0.5))
        distilled(net, net, F.mse_loss)

    calm(policy, noise, dropout)


def test_temperatures_of_a_teacher():
    """What is divided by another number is another value: a target that is sharper than the prediction."""
    net = student()

    def sharpened(scores, target):
        return F.kl_div((scores / 2.0).log_softmax(-1), (target / 0.5).softmax(-1), reduction="batchmean")

    calm(lambda: distilled(net, net, sharpened))
