"""AG108: a forward that computes with what its Function was not given."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Modulate(torch.autograd.Function):
    """Multiplies by what an object has; its backward knows of ``x`` only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, holder: Any) -> Tensor:
        ctx.holder = holder
        return x * holder.scale

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Any:
        return given[0] * ctx.holder.scale.detach(), None


class ModulateBoth(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> Any:
        x, scale = ctx.saved_tensors
        return given[0] * scale, given[0] * x


class Holder:
    """What a closure, a module or ``ctx`` is for such a Function."""

    scale: Tensor


def test_parameter_read_from_the_module():
    """A parameter that forward takes from a module is named, with the line of apply."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 4)
            self.scale = nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            return Modulate.apply(self.body(x), self)  # Applied.

    def program() -> None:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    diagnosed(
        program,
        "AG108",
        "# Applied.",
        "Modulate.forward",
        "scale",
        "no gradient",
        severity="warning",
        where=Net.forward,
    )


def test_result_of_another_network():
    """The tensor that forward reads is computed by a network: that one's parameters are named."""

    def program() -> None:
        holder, body, gate = Holder(), nn.Linear(4, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*body.parameters(), *gate.parameters()], lr=0.1)
        for _ in range(2):
            holder.scale = gate(X).sigmoid()
            trained(optimizer, Modulate.apply(body(X), holder).pow(2).mean())  # Applied.

    diagnosed(program, "AG108", "# Applied.", "gate.weight", "holder.scale", severity="warning")


def test_recomputing_function_that_asks_for_its_own_inputs_only():
    """An adjoint that differentiates its recomputation by its arguments leaves what it reads beside them without."""

    class Adjoint(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, holder: Any, y: Tensor) -> Tensor:
            ctx.holder = holder
            ctx.save_for_backward(y)
            return (y * holder.scale).tanh()

        @staticmethod
        def backward(ctx: Any, *given: Tensor) -> Any:
            with torch.enable_grad():
                y = ctx.saved_tensors[0].detach().requires_grad_()
                made = (y * ctx.holder.scale).tanh()
                return None, *torch.autograd.grad(made, y, given[0], retain_graph=True)

    def program() -> None:
        holder, body, gate = Holder(), nn.Linear(4, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*body.parameters(), *gate.parameters()], lr=0.1)
        for _ in range(2):
            holder.scale = gate(X)
            trained(optimizer, Adjoint.apply(holder, body(X)).pow(2).mean())  # Applied.

    diagnosed(program, "AG108", "# Applied.", "gate.bias", severity="warning")


def test_all_that_it_reads_is_an_argument():
    """Nothing is said of a Function that was given the tensor, or a view of it."""

    def program() -> None:
        body, gate = nn.Linear(4, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*body.parameters(), *gate.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, ModulateBoth.apply(body(X), gate(X)).pow(2).mean())

    calm(program)


def test_constants_beside_the_arguments():
    """Nothing is said of a buffer, a codebook without an optimizer, or a frozen parameter that forward reads."""

    def program() -> None:
        for scale in (
            torch.ones(4),
            torch.ones(4, requires_grad=True),
            nn.Parameter(torch.ones(4), requires_grad=False),
        ):
            holder, body = Holder(), nn.Linear(4, 4)
            holder.scale = scale
            optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
            trained(optimizer, Modulate.apply(body(X), holder).pow(2).mean())

    calm(program)


def test_learns_by_another_term():
    """Nothing is said of a codebook that a straight-through Function reads, and that its own term trains."""

    def program() -> None:
        holder, body = Holder(), nn.Linear(4, 4)
        holder.scale = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([*body.parameters(), holder.scale], lr=0.1)
        for _ in range(2):
            features = body(X)
            commitment = (features.detach() - holder.scale).pow(2).mean()
            trained(optimizer, Modulate.apply(features, holder).pow(2).mean() + commitment)

    calm(program)


def test_reentrant_checkpoint():
    """Nothing is said of parameters that a reentrant checkpoint's function uses: its recomputation serves them."""

    def program() -> None:
        body, gate = nn.Linear(4, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*body.parameters(), *gate.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, checkpoint(lambda h: gate(h).tanh(), body(X), use_reentrant=True).pow(2).mean())

    calm(program)


def test_what_only_looks_is_not_to_blame():
    """A parameter that forward only measures is missed for another reason, which is told of instead."""

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, holder: Any) -> Tensor:
            holder.norm = holder.scale.norm()
            return x * 2

        @staticmethod
        def backward(ctx: Any, *given: Tensor) -> Any:
            return given[0] * 2, None

    def program() -> None:
        holder, body = Holder(), nn.Linear(4, 4)
        holder.scale = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([*body.parameters(), holder.scale], lr=0.1)
        trained(optimizer, Watched.apply(body(X), holder).pow(2).mean())

    assert {finding.rule for finding in inspected(program).findings} == {"AG301"}
