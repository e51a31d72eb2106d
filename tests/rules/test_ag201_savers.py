"""AG201 by who kept the value: activations, custom Functions, lookups."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, silent, trained

X = torch.randn(8, 4)


def one_step(forward):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, forward(net).pow(2).mean())


def test_skip_connection_onto_an_activation():
    """ReLU keeps its result, so `out += identity` belongs before it."""

    def after(net):
        out = net(X).relu_()
        out += X
        return out

    def before(net):
        out = net(X)
        out += X
        return out.relu_()

    diagnosed(lambda: one_step(after), "AG201", "out += X", "out", severity="error", where=after)
    silent(lambda: one_step(before))


def test_result_kept_by_a_custom_function():
    """save_for_backward(y) keeps the result that the caller goes on to modify."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

    def edited(net):
        y = Exp.apply(net(X))
        y.add_(1)
        return y

    diagnosed(lambda: one_step(edited), "AG201", "y.add_(1)", "y", "save_for_backward", severity="error", where=edited)
    silent(lambda: one_step(lambda net: Exp.apply(net(X)) + 1))


def test_indices_edited_after_a_lookup():
    """An embedding keeps its indices."""

    def shifted(after):
        table, index = nn.Embedding(10, 4), torch.tensor([1, 2, 3])
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
        rows = table(index)
        after(index)
        trained(optimizer, rows.pow(2).sum())

    def in_place(index):
        index.add_(1)

    diagnosed(
        lambda: shifted(in_place), "AG201", "index.add_(1)", "index", "embedding", severity="error", where=in_place
    )
    silent(lambda: shifted(lambda index: index + 1))


def test_out_argument_and_foreach():
    """`out=` and torch._foreach_* write as well."""

    def through_out(net):
        hidden = net(X).exp()
        with torch.no_grad():
            torch.add(hidden, 1.0, out=hidden)
        return hidden

    def through_foreach(net):
        parts = [net(X).exp(), net(X).exp()]
        with torch.no_grad():
            torch._foreach_mul_(parts, 2.0)
        return torch.stack(parts)

    diagnosed(lambda: one_step(through_out), "AG201", "out=hidden", "hidden", severity="error", where=through_out)
    diagnosed(
        lambda: one_step(through_foreach), "AG201", "_foreach_mul_", "_foreach_mul_", severity="error",
        where=through_foreach,
    )  # fmt: skip


def test_result_that_no_variable_holds():
    """A decorator that scales what it is handed: the tensor is called as the modifying line calls it."""

    def halved(function):
        def wrapper(*args):
            result = function(*args)
            return result.mul_(0.5)

        return wrapper

    @halved
    def weights(net):
        return net(X).softmax(dim=-1)

    finding = diagnosed(
        lambda: one_step(weights), "AG201", "result.mul_(0.5)", "result was saved", severity="error", where=halved
    )
    assert "`result.clone()`" in finding.fix
