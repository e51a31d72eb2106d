"""AG203: in-place operations that autograd refuses at once."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def test_leaf_updated_in_place():
    """`w -= lr * w.grad` raises on a leaf; under no_grad it is the update."""

    def sick():
        w = torch.randn(3, 1, requires_grad=True)
        (X @ w).pow(2).mean().backward()
        w -= 0.1 * w.grad

    def healthy():
        w = torch.randn(3, 1, requires_grad=True)
        (X @ w).pow(2).mean().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad

    diagnosed(sick, "AG203", "w -= 0.1", "w", "no_grad", severity="error")
    calm(healthy)


def test_row_of_a_leaf_written():
    """Writing a row or an element of a parameter goes through a view of a leaf."""

    def sick():
        table = nn.Embedding(5, 3)
        table.weight[0] = 0.0

    def row():
        table = nn.Embedding(5, 3)
        first = table.weight[0]
        first.zero_()

    def healthy():
        table = nn.Embedding(5, 3)
        with torch.no_grad():
            table.weight[0] = 0.0
        table.weight.data[1].zero_()
        table(torch.tensor([1])).sum().backward()

    diagnosed(sick, "AG203", "table.weight[0] = 0.0", "weight", severity="error")
    diagnosed(row, "AG203", "first.zero_()", "first", severity="error")
    calm(healthy)


def test_init_function_called_by_hand():
    """`weight.normal_()` on a parameter needs no_grad; nn.init has it."""

    def sick():
        layer = nn.Linear(3, 3)
        layer.weight.normal_(0, 0.02)

    def healthy():
        layer = nn.Linear(3, 3)
        nn.init.normal_(layer.weight, 0, 0.02)
        layer(X).sum().backward()

    diagnosed(sick, "AG203", "layer.weight.normal_", "weight", "normal_", severity="error")
    calm(healthy)


def test_expanded_tensor_written():
    """An expanded tensor has one memory for several elements; a clone has its own."""

    def sick():
        w = torch.randn(1, 3, requires_grad=True)
        bias = (w * 2).expand(4, 3)
        bias += X

    def masked():
        mask = torch.zeros(1, 3).expand(4, 3)
        mask.mul_(2)
        return mask

    def healthy():
        w = torch.randn(1, 3, requires_grad=True)
        bias = (w * 2).expand(4, 3).clone()
        bias += X
        bias.sum().backward()

    diagnosed(sick, "AG203", "bias += X", "bias", "expand", severity="error")
    report = diagnosed(masked, "AG203", "mask.mul_(2)", "mask", "expand", severity="error")
    assert "clone" in report.fix
    calm(healthy)


def test_chunk_of_a_split_written():
    """Views of one multi-output call (split, unbind, chunk) may not be modified."""

    def sick():
        hidden = nn.Linear(3, 4)(X)
        left, right = hidden.chunk(2, dim=1)
        left.mul_(2)
        (left + right).sum().backward()

    def unbound():
        hidden = nn.Linear(3, 4)(X)
        for row in hidden.unbind(0):
            row.clamp_(min=0)

    def healthy():
        hidden = nn.Linear(3, 4)(X)
        left, right = hidden.chunk(2, dim=1)
        left = left * 2
        (left + right).sum().backward()

    diagnosed(sick, "AG203", "left.mul_(2)", "left", "chunk", severity="error")
    diagnosed(unbound, "AG203", "row.clamp_", "row", "unbind", severity="error")
    calm(healthy)


def test_out_argument():
    """out= writes into a given tensor, which autograd does not follow."""

    def sick():
        w, buffer = torch.randn(3, 1, requires_grad=True), torch.empty(4, 1)
        torch.mm(X, w, out=buffer)

    def healthy():
        w, buffer = torch.randn(3, 1, requires_grad=True), torch.empty(4, 1)
        with torch.no_grad():
            torch.mm(X, w, out=buffer)
        torch.mm(X, w).sum().backward()

    diagnosed(sick, "AG203", "torch.mm(X, w, out=buffer)", "buffer", severity="error")
    calm(healthy)


def test_view_made_without_grad():
    """A view made under no_grad may not be modified with grad mode on."""

    def sick():
        hidden = nn.Linear(3, 4)(X)
        with torch.no_grad():
            part = hidden[:, :2]
        part.mul_(2)

    diagnosed(sick, "AG203", "part.mul_(2)", "part", "no_grad", severity="error")


def test_inplace_activation_on_a_parameter():
    """An in-place activation on a parameter modifies a leaf; one on an activation is fine."""

    class Gate(nn.Module):
        def __init__(self, act):
            super().__init__()
            self.gate, self.linear, self.act = nn.Parameter(torch.randn(3)), nn.Linear(3, 3), act

        def forward(self, x):
            return self.linear(x) * self.act(self.gate)

    def run(act):
        net = Gate(act)
        trained(torch.optim.SGD(net.parameters(), lr=0.1), net(X).sum())

    diagnosed(
        lambda: run(nn.ReLU(inplace=True)), "AG203", "self.act(self.gate)", "gate", "relu_",
        severity="error", where=Gate,
    )  # fmt: skip
    calm(lambda: run(nn.ReLU()))


def test_caught_and_handled():
    """An error that the program handles is no alarm."""

    def program():
        w = torch.randn(3, 1, requires_grad=True)
        try:
            w.mul_(2)
        except RuntimeError:
            with torch.no_grad():
                w.mul_(2)
        (X @ w).sum().backward()

    calm(program)


def test_overlapping_copy():
    """Shifting a buffer onto itself reads what it writes; from a copy it does not."""

    def sick():
        history = torch.zeros(5)
        history[1:].copy_(history[:-1])

    def healthy():
        history = torch.zeros(5)
        history[1:].copy_(history[:-1].clone())

    diagnosed(sick, "AG203", "history[1:].copy_", "history", severity="error")
    calm(healthy)


def test_parameter_made_by_expand():
    """No step can write to it: the line that expanded it is named, and a clone of it can be written."""

    def program(own):
        net = nn.Linear(3, 2, bias=False)
        net.weight = nn.Parameter(own(torch.ones(1, 3).expand(2, -1)))  # shared
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)
        trained(optimizer, net(X).pow(2).mean())

    diagnosed(
        lambda: program(lambda t: t), "AG203", "# shared", "net.weight", "clone()", severity="error", where=program
    )
    calm(lambda: program(torch.clone))
