"""AG305: gradients of several tasks that are read after each backward, and are running sums."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def tasks():
    net = nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    out = net(torch.randn(8, 4))
    return net, optimizer, [out[:, 0].pow(2).mean(), (out[:, 1] - 1).abs().mean()]


def test_second_reading_contains_the_first():
    """The gradient that is assigned was combined from a gradient and a sum that contains it."""

    def program():
        net, optimizer, losses = tasks()
        read = []
        for loss in losses:
            loss.backward(retain_graph=True)
            read.append(net.weight.grad.clone())
        net.weight.grad = (read[0] + read[1]) / 2
        optimizer.step()

    diagnosed(program, "AG305", "loss.backward(retain_graph=True)", "weight", severity="warning")


def test_readings_apart_are_silent():
    """Cleared between the two, taken apart by the program itself, or read for the log alone."""

    def cleared():
        net, optimizer, losses = tasks()
        read = []
        for loss in losses:
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            read.append(net.weight.grad.clone())
        net.weight.grad = (read[0] + read[1]) / 2
        optimizer.step()

    def subtracted():
        net, optimizer, (one, other) = tasks()
        one.backward(retain_graph=True)
        first = net.weight.grad.clone()
        other.backward()
        second = net.weight.grad.clone() - first
        net.weight.grad = (first + second) / 2
        optimizer.step()

    def logged():
        net, optimizer, losses = tasks()
        norms = []
        for loss in losses:
            loss.backward(retain_graph=True)
            norms.append(net.weight.grad.clone().norm())
        optimizer.step()
        return norms

    calm(cleared, subtracted, logged)


def combined(*, between=lambda p: None, combine):
    """Two losses, read after each backward; what is done in between, and how the readings are combined."""
    net, optimizer, losses = tasks()
    read = []
    for loss in losses:
        loss.backward(retain_graph=True)
        read.append(net.weight.grad.flatten().clone())
        between(net.weight)
    net.weight.grad = combine(*read).view_as(net.weight)
    optimizer.step()


def test_sums_hidden_in_views_stacks_and_products():
    """Read through a view; added up by a matrix product, a choice by sign, an op on lists, or after a projection."""

    def weighed(one, other):
        rows = torch.stack([one, other])
        return (rows @ rows.T).sum(1).softmax(0) @ rows

    def projected(one, other):
        return one - (one @ other) / other.norm() ** 2 * other + other

    def agreeing(one, other):
        return torch.where(one * other > 0, one + other, torch.zeros_like(one))

    def listed(one, other):
        return torch._foreach_add([one], [other])[0]

    for combine in (weighed, projected, agreeing, listed):
        diagnosed(
            lambda combine=combine: combined(combine=combine),
            "AG305", "loss.backward(retain_graph=True)", "weight", severity="warning", where=combined,
        )  # fmt: skip


def test_running_sums_that_are_meant():
    """Scaled or limited by an earlier gradient, put back instead of the sum, or changed by the program in between."""

    def centralised(p):
        p.grad = p.grad - p.grad.mean(1, keepdim=True)

    def decayed(p):
        p.grad.mul_(0.9)

    calm(
        lambda: combined(combine=lambda one, both: both / one.norm()),
        lambda: combined(combine=lambda one, both: both * (both.pow(2).sum() / one.pow(2).sum()).clamp(0.1, 1)),
        lambda: combined(combine=lambda one, both: torch.minimum(torch.maximum(both, -2 * one.abs()), 2 * one.abs())),
        lambda: combined(combine=lambda one, both: torch.where(both.isfinite(), both, one)),
        lambda: combined(combine=lambda one, both: one + both, between=centralised),
        lambda: combined(combine=lambda one, both: one + both, between=decayed),
    )


def test_readings_that_are_taken_apart_are_silent():
    """Each sum minus the one before, of three losses, by another copy than the difference was read from; in lists."""

    def one_after_the_other():
        net, optimizer, losses = tasks()
        before, each = torch.zeros_like(net.weight), []
        for loss in [*losses, net.weight.pow(2).sum()]:
            loss.backward(retain_graph=True)
            each.append(net.weight.grad - before)
            before = net.weight.grad.clone()
        net.weight.grad = sum(gradient / gradient.norm() for gradient in each)
        optimizer.step()

    def in_lists():
        net, optimizer, (one, other) = tasks()
        one.backward(retain_graph=True)
        first = [p.grad.clone() for p in net.parameters()]
        other.backward()
        second = torch._foreach_sub([p.grad for p in net.parameters()], first)
        for p, a, b in zip(net.parameters(), first, second, strict=True):
            p.grad = a + b / b.norm()
        optimizer.step()

    def minus_all_before():
        net, optimizer, losses = tasks()
        each = []
        for loss in [*losses, net.weight.pow(2).sum()]:
            loss.backward(retain_graph=True)
            each.append(net.weight.grad.clone() - sum(each))
        net.weight.grad = sum(gradient / gradient.norm() for gradient in each)
        optimizer.step()

    calm(
        one_after_the_other,
        in_lists,
        minus_all_before,
        lambda: combined(combine=lambda one, both: (both + (-one)) / 2 + one),
    )


def test_running_sums_that_are_subtracted_by_numbers_and_slices():
    """Minus one times the first, or `alpha=-1`; each row of a stack minus the row before, and a row among others."""

    def rows(one, both):
        stack = torch.stack([one, both])
        return torch.cat([stack[:1], stack[1:] - stack[:-1]]).mean(0)

    def row(one, both):
        stack = torch.stack([one, both])
        return stack[0] + (stack[1] - stack[0]) / 3

    calm(
        lambda: combined(combine=lambda one, both: (both + (-1) * one) / 2 + one),
        lambda: combined(combine=lambda one, both: one * -1.0 + both + one),
        lambda: combined(combine=lambda one, both: both.add(one, alpha=-1) / 2 + one),
        lambda: combined(combine=rows),
        lambda: combined(combine=row),
    )


def test_what_is_weighed_with_zero_is_no_term():
    """Weights that are numbers, one of them 0: the sum is what the program wants; 0.3 and 0.7 count both."""

    def weighed(*weights):
        return lambda *read: sum(weight * gradient for weight, gradient in zip(weights, read, strict=True))

    calm(lambda: combined(combine=weighed(0, 1)), lambda: combined(combine=weighed(0.0, 1.0)))
    diagnosed(
        lambda: combined(combine=weighed(0.3, 0.7)), "AG305", "loss.backward(retain_graph=True)", "weight",
        severity="warning", where=combined,
    )  # fmt: skip


def test_rows_of_a_stack_that_are_added():
    """Two slices of a stack are two readings."""

    def added(one, other):
        stack = torch.stack([one, other])
        return stack[0] + stack[1]

    diagnosed(
        lambda: combined(combine=added), "AG305", "loss.backward(retain_graph=True)", "weight",
        severity="warning", where=combined,
    )  # fmt: skip
