"""AG101 without modules: bare tensors, manual updates, inner loops, old idioms."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_bare_weight_behind_a_detach():
    """A leaf needs neither module nor optimizer: a detached activation leaves the loss without gradient."""

    def sick():
        w = torch.randn(4, 1, requires_grad=True)
        hidden = X @ w
        hidden.detach().pow(2).mean().backward()

    def healthy():
        w = torch.randn(4, 1, requires_grad=True)
        hidden = X @ w
        (hidden - hidden.detach().mean()).pow(2).mean().backward()
        return w.grad

    diagnosed(sick, "AG101", "hidden.detach()", "w", "hidden", severity="error")
    silent(healthy)


def test_manual_update_of_a_weight_without_gradient():
    """A manual update fails on `None`: the line that kept the weight from its gradient is what matters."""

    def descent(product):
        w, b = torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
        for _ in range(2):
            loss = (product(w) + b).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                for leaf in (b, w):
                    leaf.sub_(0.1 * leaf.grad)
                    leaf.grad = None

    def cut(w):
        return X @ w.data

    diagnosed(lambda: descent(cut), "AG101", "X @ w.data", "w", ".data", "None", severity="error", where=cut)
    silent(lambda: descent(lambda w: X @ w))


def test_variable_made_of_data():
    """`Variable(h.data, requires_grad=True)` of old code starts a new graph in the middle."""

    def chained(link):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        trained(optimizer, F.cross_entropy(head(link(body(X))), Y))

    def variable(hidden):
        return torch.autograd.Variable(hidden.data, requires_grad=True)

    diagnosed(lambda: chained(variable), "AG101", "hidden.data", "body.weight", severity="warning", where=variable)
    silent(lambda: chained(lambda hidden: hidden))


def test_state_detached_before_its_only_use():
    """A learned initial state that is detached at once never learns; detaching between batches is right."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.start, self.cell = nn.Parameter(torch.zeros(8, 4)), nn.GRUCell(4, 4)

    class Sick(Recurrent):
        def forward(self, batches):
            state = self.start * 1.0
            for x in batches:
                state = self.cell(x, state.detach())
            return state

    class Healthy(Recurrent):
        def forward(self, batches):
            state = self.start * 1.0
            for x in batches:
                state = self.cell(x, state)
            return state

    def program(kind):
        net = kind()
        optimizer = torch.optim.Adam(net.parameters())
        trained(optimizer, net([X, X + 1]).pow(2).mean())

    diagnosed(lambda: program(Sick), "AG101", "state.detach()", "start", severity="warning", where=Sick)
    silent(lambda: program(Healthy))


def test_inner_loop_that_forgets_its_start():
    """Meta-learning: adapted weights that were detached have no way back to the initial ones."""

    def adapted(start):
        net = nn.Linear(4, 1)
        weights = dict(net.named_parameters())
        inner = torch.func.functional_call(net, weights, (X,)).pow(2).mean()
        slopes = torch.autograd.grad(inner, tuple(weights.values()))
        fast = {k: start(w - 0.1 * s) for (k, w), s in zip(weights.items(), slopes, strict=True)}
        outer = torch.func.functional_call(net, fast, (X,)).pow(2).mean()
        return torch.autograd.grad(outer, tuple(weights.values()))

    def forgotten(weight):
        return weight.detach().requires_grad_()

    diagnosed(
        lambda: adapted(forgotten), "AG101", "weight.detach()", "weight", "autograd.grad", severity="error",
        where=forgotten,
    )  # fmt: skip
    silent(lambda: adapted(lambda weight: weight))


def test_adapter_merged_through_data():
    """`weight.data += update` changes the numbers of a layer and leaves the adapter without gradient."""

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.head = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 2)
            self.update = nn.Parameter(torch.randn(4, 4))

    class Merged(Adapted):
        def forward(self, x):
            self.base.weight.data += self.update
            return self.head(self.base(x))

    class Added(Adapted):
        def forward(self, x):
            return self.head(self.base(x) + x @ self.update)

    def program(kind):
        net = kind()
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(Merged), "AG101", "self.base.weight.data += self.update", "update", "base.weight",
        severity="warning", where=Merged,
    )  # fmt: skip
    silent(lambda: program(Added))


def test_weight_wrapped_anew_in_each_forward():
    """`nn.Parameter(self.weight / norm)` starves the weight: that is one mistake, and one finding."""

    class Equalized(nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.weight, self.bias, self.wrap = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.zeros(3)), wrap

        def forward(self, x):
            weight = self.weight / self.weight.norm()
            if self.wrap:
                weight = nn.Parameter(weight)
            return nn.functional.linear(x, weight, self.bias)

    def program(*, wrap):
        net = Equalized(wrap)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            trained(optimizer, net(torch.ones(2, 4)).pow(2).mean())

    diagnosed(
        lambda: program(wrap=True), "AG101", "weight = nn.Parameter(weight)", "weight",
        severity="warning", where=Equalized,
    )  # fmt: skip
    silent(lambda: program(wrap=False))
