"""AG109: a teacher in eval mode that learns through the target of a loss."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def steps(loss_of, *nets):
    optimizer = torch.optim.SGD(nn.ModuleList(nets).parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(*nets))


def softened(student, teacher):
    target = teacher(X).softmax(-1)  # with gradient
    return F.kl_div(student(X).log_softmax(-1), target, reduction="batchmean")


def labelled(student, teacher):
    return F.cross_entropy(student(X), teacher(X).softmax(-1))  # labels


def test_teacher_that_an_optimizer_has():
    """It moves its answers towards the student's; under no_grad, or detached, it stays what it is."""

    def program(loss_of):
        steps(loss_of, nn.Linear(4, 2), nn.Linear(4, 2).eval())

    def at_rest(student, teacher):
        with torch.no_grad():
            target = teacher(X).softmax(-1)
        return F.kl_div(student(X).log_softmax(-1), target, reduction="batchmean")

    for loss_of, line in ((softened, "# with gradient"), (labelled, "# labels")):
        finding = diagnosed(
            lambda loss_of=loss_of: program(loss_of), "AG109", line, "1.weight", severity="warning", where=loss_of,
        )  # fmt: skip
        assert "in eval mode" in finding.message
    calm(lambda: steps(at_rest, nn.Linear(4, 2), nn.Linear(4, 2).eval().requires_grad_(False)))


def test_targets_that_learn_on_purpose():
    """Two networks that learn from each other, one that learns from both sides, and all in eval mode."""

    def mutual(one, other):
        return softened(one, other) + softened(other, one)

    def both(student, teacher):
        return softened(student, teacher) + F.cross_entropy(teacher(X), Y)

    calm(
        lambda: steps(softened, nn.Linear(4, 2), nn.Linear(4, 2)),
        lambda: steps(mutual, nn.Linear(4, 2), nn.Linear(4, 2).eval()),
        lambda: steps(both, nn.Linear(4, 2), nn.Linear(4, 2).eval()),
        lambda: steps(softened, nn.Linear(4, 2).eval(), nn.Linear(4, 2).eval()),
        lambda: steps(lambda one, other: F.mse_loss(one(X), other(X)), nn.Linear(4, 2), nn.Linear(4, 2).eval()),
    )
