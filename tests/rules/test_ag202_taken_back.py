"""AG202: memory that was modified unseen and then given back what it had is what backward needs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import gradcheck, gradgradcheck
from torch.utils.checkpoint import checkpoint

from .programs import alarms, inspected, silent, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def leaf(*shape, dtype=torch.double):
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach()
        return x.exp()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.x.exp()


def checkpointed(x):
    return checkpoint(lambda y: y.exp() * y, x, use_reentrant=False)


CHECKS = {
    "product": lambda: gradcheck(torch.mul, (leaf(3), leaf(3)), check_batched_grad=True, check_forward_ad=True),
    "layer": lambda: gradcheck(F.linear, (leaf(2, 3), leaf(4, 3), leaf(4))),
    "network": lambda: gradcheck(nn.Sequential(nn.Linear(3, 4), nn.Tanh()).double(), (leaf(2, 3),)),
    "norm": lambda: gradcheck(lambda x: F.batch_norm(x, None, None, training=True), (leaf(4, 3),)),
    "view": lambda: gradcheck(lambda x: x.t()[1].exp() * x[0], (leaf(3, 3),)),
    "strided": lambda: gradcheck(lambda x: x.exp() * x, (leaf(4, 6)[:, ::2].detach().requires_grad_(),)),
    "complex": lambda: gradcheck(lambda z: z * z.conj() * 2j, (leaf(3, dtype=torch.cdouble),)),
    "sparse": lambda: gradcheck(
        torch.sparse.mm, (leaf(3, 3).detach().to_sparse_csr().requires_grad_(), leaf(3, 2)), masked=True
    ),
    "fast": lambda: gradcheck(torch.mul, (leaf(3), leaf(3)), fast_mode=True),
    "function": lambda: gradcheck(Product.apply, (leaf(3), leaf(3))),
    "attributes of ctx": lambda: gradcheck(Exponential.apply, (leaf(3),)),
    "checkpoint": lambda: gradcheck(checkpointed, (leaf(3),)),
    "twice": lambda: gradgradcheck(lambda x: torch.tanh(x).pow(3), (leaf(3),), check_fwd_over_rev=True),
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_gradcheck(check):
    """It writes each element through `.data` and puts it back, between the forward and the backwards."""
    report = inspected(check)
    assert not report.capture.error, summary(report)
    assert not report.findings, summary(report)


def between(edit):
    """A weight is edited between the loss and its backward; each part of it is saved."""

    def program():
        weight = nn.Parameter(torch.randn(4))
        optimizer = torch.optim.SGD([weight], lr=0.1)

        def evaluate():
            with torch.no_grad():
                return (X * weight).tanh().sum()

        for _ in range(2):
            loss = (X * weight * weight).tanh().sum()
            edit(weight, evaluate)
            trained(optimizer, loss)

    return program


def whole(weight, evaluate):
    kept = weight.detach().clone()
    for sign in (1, -1):
        weight.data.copy_(kept + sign * 1e-3)
        evaluate()
    weight.data.copy_(kept)


def rows(weight, evaluate):
    for entry in weight.data:
        kept = entry.clone()
        entry.add_(1e-3)
        evaluate()
        entry.copy_(kept)


def forgotten(weight, evaluate):
    for number, entry in enumerate(weight.data):
        kept = entry.clone()
        entry.add_(1e-3)
        evaluate()
        if number:
            entry.copy_(kept)


def another(weight, evaluate):
    kept = [entry.clone() for entry in weight.data]
    for entry in weight.data:
        entry.add_(1e-3)
        evaluate()
        entry.copy_(kept[0])


def late(weight, evaluate):
    for entry in weight.data:
        entry.add_(1e-3)
        kept = entry.clone()
        entry.add_(1e-3)
        evaluate()
        entry.copy_(kept)


def stale(weight, evaluate):
    first = weight.data.clone()
    weight.data.mul_(2)
    second = weight.data.clone()
    weight.data.copy_(first)
    evaluate()
    weight.data.copy_(second)


def test_elements_that_are_put_back():
    """What matters is that each changed part has got its old numbers back, from a copy of just that part."""
    silent(between(whole), between(rows))
    for edit in (forgotten, another, late, stale):
        assert severities(between(edit)) == {"error"}, edit.__name__


def severities(program):
    report = inspected(program)
    assert not report.capture.error, summary(report)
    assert {finding.rule for finding in report.findings} <= {"AG202"}, summary(report)
    return {finding.severity for finding in report.findings}


def forth_and_back(weight, evaluate):
    weight.data.add_(1e-3)
    evaluate()
    weight.data.sub_(1e-3)


def central(weight, evaluate):
    weight.data += 1e-3
    evaluate()
    weight.data -= 2 * 1e-3
    evaluate()
    weight.data += 1e-3


def along(weight, evaluate):
    direction = torch.randn(4)
    weight.data.add_(direction, alpha=1e-3)
    evaluate()
    weight.data.add_(direction, alpha=-1e-3)


def scaled(weight, evaluate):
    weight.data.mul_(3.0)
    evaluate()
    weight.data.div_(3.0)


def negative(weight, evaluate):
    direction = torch.randn(4)
    torch._foreach_add_([weight.data], [direction])
    evaluate()
    torch._foreach_add_([weight.data], [-direction])


def computed_again(weight, evaluate):
    direction = torch.randn(4)
    weight.data.add_(1e-3 * direction)
    evaluate()
    weight.data.sub_(1e-3 * direction)


def entry_by_entry(weight, evaluate):
    for i in range(4):
        weight.data[i] += 1e-3
        evaluate()
        weight.data[i] -= 1e-3


def numbers(weight, evaluate):
    for i in range(4):
        old = weight.data[i].item()
        weight.data[i] = old + 1e-3
        evaluate()
        weight.data[i] = old


@pytest.mark.parametrize(
    "edit", [forth_and_back, central, along, scaled, negative, computed_again, entry_by_entry, numbers]
)
def test_finite_differences(edit):
    """Subtracting what was added puts nearly the same numbers back, which is no certain fault."""
    report = inspected(between(edit))
    assert not alarms(report), summary(report)
    (finding,) = report.findings
    assert "likely restored" in finding.message


def half_way(weight, evaluate):
    weight.data.add_(1.0)
    evaluate()
    weight.data.sub_(0.5)


def twice(weight, evaluate):
    for _ in range(2):
        weight.data.add_(torch.randn(4))
        evaluate()


def other_entry(weight, evaluate):
    weight.data[0] += 1e-3
    evaluate()
    weight.data[1] -= 1e-3


def cut_off(weight, evaluate):
    weight.data.mul_(0.5)
    weight.data.clamp_(-1, 1)


def number_of_another(weight, evaluate):
    old = weight.data[0].item()
    evaluate()
    weight.data[1] = old


def changed_meanwhile(weight, evaluate):
    direction = torch.randn(4)
    weight.data.add_(direction)
    direction.mul_(2)
    weight.data.add_(-direction)


@pytest.mark.parametrize("edit", [half_way, twice, other_entry, cut_off, number_of_another])
def test_edits_that_stay(edit):
    """Other amounts, other places and other operations put nothing back."""
    assert severities(between(edit)) == {"error"}


def sharpness_aware(*, right):
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net(X).pow(2).mean().backward()
        steps = [0.05 * p.grad for p in net.parameters()]
        for p, step in zip(net.parameters(), steps, strict=True):
            p.data.add_(step)
        optimizer.zero_grad()
        loss = net(X).pow(2).mean()
        if right:
            loss.backward()
        for p, step in zip(net.parameters(), steps, strict=True):
            p.data.sub_(step)
        if not right:
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def test_perturbed_weights():
    """The perturbed loss needs the perturbed weights: to take the step back before its backward is too early."""
    silent(lambda: sharpness_aware(right=True))
    assert severities(lambda: sharpness_aware(right=False)) == {"error"}


def test_operand_that_was_modified_in_between():
    """Adding the negative takes nothing back once the operand has changed: by how much is not known."""
    assert severities(between(changed_meanwhile)) == {"info"}


def through_alias(alias, modified):
    """An operand is added, modified, and subtracted: through an alias or by itself."""

    def program():
        weight, operand = leaf(4), torch.randn(4, dtype=torch.double)
        saved, other = weight.exp(), alias(operand)
        saved.data.add_(other)
        {"alias": other, "source": operand}[modified].mul_(3)
        saved.data.sub_(other)
        saved.data.add_(1).sub_(1)
        saved.sum().backward()

    return program


@pytest.mark.parametrize("modified", ["alias", "source"])
@pytest.mark.parametrize("alias", [torch.Tensor.detach, lambda t: t.data], ids=["detach", "data"])
def test_operand_that_was_modified_through_an_alias(alias, modified):
    """By how much it was modified is not known, whether the alias counts its writes with its source or for itself."""
    assert severities(through_alias(alias, modified)) == {"info"}


@pytest.mark.parametrize("number", [1e-320, -1e-310, 1e300])
def test_numbers_at_the_end_of_the_range(number):
    """1 by a number may be larger than any float: that the division takes the multiplication back is not known then."""

    def program():
        weight = leaf(4)
        saved, scaled = weight.exp(), torch.randn(4, dtype=torch.double)
        saved.data.mul_(number).div_(number)
        saved.data.add_(scaled / number).sub_(scaled / number)
        saved.sum().backward()

    assert "AG202" in {finding.rule for finding in inspected(program).findings}
    assert not inspected(program).notes


def unlike_operands():
    """Adds one tensor, subtracts another."""
    weight = leaf(4, 4)
    saved = weight.exp()
    saved.data.add_(X[:4].cos())
    saved.data.sub_(X[:4].sin(), alpha=0.5)
    saved.sum().backward()


def recomputed_operands():
    """Adds a tensor, subtracts what is computed in the same way."""
    weight = leaf(4, 4)
    saved = weight.exp()
    saved.data.add_(0.1 * weight.detach())
    saved.data.sub_(0.1 * weight.detach())
    saved.sum().backward()


def test_operands_that_have_nothing_to_do_with_each_other():
    """What adds one tensor and subtracts another takes nothing back; two that are computed alike may be the same."""
    assert severities(unlike_operands) == {"error"}
    assert severities(recomputed_operands) == {"info"}


def probed(*amounts):
    """Weights are moved along one direction by each of the amounts, between a forward and its backward."""

    def program():
        weight, direction = leaf(4, 4), torch.randn(4, 4, dtype=torch.double)
        saved = weight.exp()
        for amount in amounts:
            saved.data.add_(amount * direction * 1e-3)
        saved.sum().backward()

    return program


def merged(into, out):
    """A product of two matrices is added with one scale and subtracted with another."""

    def program():
        weight, a, b = leaf(4, 4), leaf(2, 4), leaf(4, 2)
        saved = weight.exp()
        saved.data += (b.data @ a.data) * into
        saved.data -= (b.data @ a.data) / out
        (saved.sum() + a.sum() + b.sum()).backward()

    return program


def test_numbers_that_scale_an_operand():
    """They tell how often it is added: what adds up to nothing is likely restored, what does not certainly is not."""
    for program in (probed(1, -2, 1), probed(0.5, -0.5), merged(2.0, 0.5)):
        assert severities(program) == {"info"}
    for program in (probed(1, -3, 1), probed(0.1, -0.5), merged(2.0, 1.0)):
        assert severities(program) == {"error"}
