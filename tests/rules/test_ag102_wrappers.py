"""AG102: decorated forwards, context managers of the program's own, and the C-level switch."""

from __future__ import annotations

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def one_step(loss):
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, loss(net))


def test_decorated_forward():
    """A forward that was decorated for inference is what training calls, too."""

    class Decorated(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        @torch.no_grad()
        def forward(self, x):
            return self.layer(x)

    class Bare(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 2)

        def forward(self, x):
            return self.layer(x)

    def program(kind):
        net = kind()
        trained(torch.optim.SGD(net.parameters(), lr=0.1), F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(Decorated), "AG102", "@torch.no_grad()", "forward", "layer.weight", severity="error",
        where=Decorated,
    )  # fmt: skip
    silent(lambda: program(Bare))


def test_decorator_without_parentheses():
    """`@torch.no_grad` works like `@torch.no_grad()`."""

    def program(embed):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        trained(optimizer, F.cross_entropy(head(embed(body)), Y))

    @torch.no_grad
    def embedded(body):
        return body(X)

    diagnosed(
        lambda: program(embedded), "AG102", "    @torch.no_grad\n", "embedded", "body.weight", severity="warning",
        where=test_decorator_without_parentheses,
    )  # fmt: skip


@contextlib.contextmanager
def evaluating(net):
    net.eval()
    with torch.no_grad():
        yield
    net.train()


def test_context_manager_around_evaluation():
    """A `contextmanager` that yields inside no_grad is right for evaluation and wrong around the training loss."""

    def inside(net):
        with evaluating(net):
            return F.cross_entropy(net(X), Y)

    def outside(net):
        with evaluating(net):
            net(X)
        return F.cross_entropy(net(X), Y)

    diagnosed(
        lambda: one_step(inside), "AG102", "with torch.no_grad():", "no_grad", severity="error",
        where=evaluating.__wrapped__,
    )  # fmt: skip
    silent(lambda: one_step(outside))


def test_context_class_that_restores_only_on_success():
    """An `__exit__` that skips restoring when an exception passes leaves grad mode off."""

    class Evaluation:
        def __enter__(self):
            self.before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)

        def __exit__(self, kind, error, traceback):
            if kind is None:
                torch.set_grad_enabled(self.before)

    def failing(net):
        with contextlib.suppress(ValueError), Evaluation():
            raise ValueError
        return F.cross_entropy(net(X), Y)

    def passing(net):
        with Evaluation():
            net(X)
        return F.cross_entropy(net(X), Y)

    diagnosed(
        lambda: one_step(failing), "AG102", "torch.set_grad_enabled(False)", "set_grad_enabled", severity="error",
        where=Evaluation,
    )  # fmt: skip
    silent(lambda: one_step(passing))


def test_validation_loss_used_for_training():
    """A loss that comes from an evaluation helper has no graph."""

    def evaluated(net):
        with torch.no_grad():
            return F.cross_entropy(net(X), Y)

    diagnosed(
        lambda: one_step(evaluated), "AG102", "with torch.no_grad():", "weight", severity="error", where=evaluated
    )


def test_switch_of_the_c_module():
    """`torch._C._set_grad_enabled(False)` is told like the public switch."""

    def switched(net):
        torch._C._set_grad_enabled(False)
        return F.cross_entropy(net(X), Y)

    diagnosed(
        lambda: one_step(switched), "AG102", "_set_grad_enabled(False)", "weight", severity="error", where=switched
    )
