"""AG305 and AG404: statements that name a call and do not make it, or make a context and do not enter it."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed, silent


def test_zero_grad_without_parentheses_is_pointed_at():
    """The gradients add up, and the statement that names the method is the culprit."""

    def program():
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad  # the fault
            net(torch.ones(3, 2)).mean().backward()
            optimizer.step()

    found = diagnosed(program, "AG305", "optimizer.zero_grad  # the fault", severity="warning")
    assert "parentheses" in found.fix


def test_backward_without_parentheses_is_pointed_at():
    """No backward ran, and the statement that names it is the culprit."""

    def program():
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(torch.ones(3, 2)).mean()
            loss.backward  # the fault
            optimizer.step()

    diagnosed(program, "AG305", "loss.backward  # the fault", severity="warning")


def test_a_context_that_is_not_entered_is_pointed_at():
    """The teacher gets gradients: `torch.no_grad()` as a statement switches nothing off."""

    def program():
        teacher, student = nn.Linear(2, 1), nn.Linear(2, 1)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        for _ in range(2):
            torch.no_grad()
            target = teacher(torch.ones(3, 2))
            optimizer.zero_grad()
            F.mse_loss(student(torch.ones(3, 2)), target).backward()
            optimizer.step()

    found = diagnosed(program, "AG404", "torch.no_grad()", "teacher.weight", severity="warning")
    assert "with torch.no_grad()" in found.fix


def test_statements_that_do_nothing_are_no_fault_by_themselves():
    """A method that is named where nothing goes wrong, and a context that is kept to be entered later."""

    def program():
        net = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        frozen = torch.no_grad()
        for _ in range(2):
            optimizer.zero_grad  # harmless
            optimizer.zero_grad()
            net(torch.ones(3, 2)).mean().backward()
            optimizer.step()
            with frozen:
                net(torch.ones(3, 2))

    silent(program)
