"""AG205 where an update computes its running average anew and does not keep it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, silent

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def fit(update, steps=3):
    net = nn.Linear(4, 2)
    params = list(net.parameters())
    states = [torch.zeros_like(p) for p in params]
    for _ in range(steps):
        net.zero_grad()
        net(X).pow(2).mean().backward()
        with torch.no_grad():
            update(params, states)


def of_a_product(params, states):
    for p, m in zip(params, states, strict=True):
        m = m * 0.9 + p.grad * 0.1  # noqa: PLW2901 - product
        p.sub_(0.1 * m)


def of_a_lerp(params, states):
    for p, m in zip(params, states, strict=True):
        m = torch.lerp(m, p.grad, 0.1)  # noqa: PLW2901 - lerp
        p.sub_(0.1 * m)


@pytest.mark.parametrize(("update", "line"), [(of_a_product, "- product"), (of_a_lerp, "- lerp")])
@pytest.mark.parametrize("backend", ["", "eager", "aot_eager"])
def test_an_average_that_is_bound_to_a_name(update, line, backend):
    """The state stays zero, of code that is compiled as of code that is not; the line that computes it is named."""
    torch._dynamo.reset()
    called = torch.compile(update, backend=backend) if backend else update
    finding = diagnosed(lambda: fit(called), "AG205", line, "m", "zero", severity="warning", where=update)
    assert finding.edits
    torch._dynamo.reset()


def test_averages_that_are_kept():
    """Written in place, copied back, or put into the list."""

    def in_place(params, states):
        for p, m in zip(params, states, strict=True):
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            p.sub_(0.1 * m)

    def copied(params, states):
        for p, m in zip(params, states, strict=True):
            m.copy_(m * 0.9 + p.grad * 0.1)
            p.sub_(0.1 * m)

    def listed(params, states):
        for at, p in enumerate(params):
            states[at] = states[at] * 0.9 + p.grad * 0.1
            p.sub_(0.1 * states[at])

    silent(lambda: fit(in_place), lambda: fit(copied), lambda: fit(listed))


def test_zeros_that_are_a_beginning():
    """A momentum that begins anew with the same zeros, and a leaky integrator that each batch begins at rest."""

    def restarted():
        w, zero = torch.ones(4, requires_grad=True), torch.zeros(4)
        for _ in range(3):
            velocity = zero
            for row in X[:3]:
                (grad,) = torch.autograd.grad((w * row).sum().square(), w)
                velocity = velocity * 0.9 + grad
                with torch.no_grad():
                    w -= 0.01 * velocity

    def integrator():
        net, rest = nn.Linear(4, 2), torch.zeros(2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            potential = rest
            for row in X:
                potential = potential * 0.9 + net(row)
            potential.pow(2).sum().backward()
            optimizer.step()

    silent(restarted, integrator)


class Own(torch.optim.Optimizer):
    """Each step is ``update(p, grad, state)`` of every parameter."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})
        for group in self.param_groups:
            for p in group["params"]:
                self.begin(self.state[p], p)

    def begin(self, state, p):
        """Nothing is there before the first step."""

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, p.grad, self.state[p])


def trained_by(kind, steps=4):
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        optimizer.step()
    return optimizer.state[net.weight]


class Rebound(Own):
    def update(self, p, grad, state):
        if not state:
            state["m"] = torch.zeros_like(p)
        m = state["m"]
        m = 0.9 * m + 0.1 * grad  # - product
        p.sub_(0.1 * m)


class Unnamed(Own):
    def begin(self, state, p):
        state["m"] = p.new_zeros(p.shape)

    def update(self, p, grad, state):
        p.sub_(0.1 * state["m"].mul(0.9).add(grad, alpha=0.1))  # - product


class Interpolated(Own):
    def begin(self, state, p):
        state["m"] = torch.zeros(p.shape)

    def update(self, p, grad, state):
        m = state["m"].lerp(grad.clamp(-1, 1), 0.1)  # - lerp
        p.add_(m, alpha=-0.1)


@pytest.mark.parametrize(("kind", "line"), [(Rebound, "- product"), (Unnamed, "- product"), (Interpolated, "- lerp")])
@pytest.mark.parametrize("steps", [3, 40])
def test_an_average_that_a_step_does_not_keep(kind, line, steps):
    """State that stays as it was made, in the first step or by the constructor; the line that computes it is named."""
    finding = diagnosed(
        lambda: trained_by(kind, steps), "AG205", line, "`m`", "weight", severity="warning", where=kind.update
    )
    assert bool(finding.edits) == (kind is Rebound)
    assert not trained_by(kind)["m"].any()


def test_averages_that_a_step_keeps():
    """Written in place, through an alias, assigned to the entry, or kept by the optimizer in another place."""

    class InPlace(Rebound):
        def update(self, p, grad, state):
            m = state.setdefault("m", torch.zeros_like(p))
            m.mul_(0.9).add_(grad, alpha=0.1)
            p.sub_(0.1 * m)

    class Aliased(Rebound):
        def update(self, p, grad, state):
            m = state.setdefault("m", torch.zeros_like(p))
            m.data.copy_(m * 0.9 + grad * 0.1)
            p.sub_(0.1 * m)

    class Exchanged(Rebound):
        def update(self, p, grad, state):
            m = state.setdefault("m", torch.zeros_like(p))
            m.data = m * 0.9 + grad * 0.1
            p.sub_(0.1 * m)

    class Assigned(Rebound):
        def update(self, p, grad, state):
            m = state.setdefault("m", torch.zeros_like(p))
            m = state["m"] = m * 0.9 + grad * 0.1
            p.sub_(0.1 * m)

    class Listed(Rebound):
        def update(self, p, grad, state):
            state.setdefault("zero", torch.zeros_like(p))
            kept = self.__dict__.setdefault("kept", {})
            kept[p] = state["zero"] * 0.9 + grad * 0.1
            p.sub_(0.1 * kept[p])

    silent(*(lambda kind=kind: trained_by(kind) for kind in (InPlace, Aliased, Exchanged, Assigned, Listed)))


def test_state_that_a_step_only_looks_at():
    """An average that is looked ahead of, one that is written every other step, and an anchor that never moves."""

    class Ahead(Own):
        def update(self, p, grad, state):
            m = state.setdefault("m", torch.zeros_like(p))
            m.mul_(0.9).add_(grad)
            p.sub_(0.1 * (grad + 0.9 * m))

    class Scaled(Own):
        """What is divided by is measured from time to time only."""

        def update(self, p, grad, state):
            if not state:
                state |= {"t": 0, "m": torch.zeros_like(p), "h": torch.zeros_like(p)}
            state["t"] += 1
            state["m"].lerp_(grad, 0.1)
            if state["t"] % 10 == 0:
                state["h"].lerp_(grad * grad, 0.1)
            p.sub_(0.1 * state["m"] / (state["h"] * 0.5 + 1))
            p.sub_(0.1 * grad / (state["h"] + 1))

    class Anchored(Own):
        def begin(self, state, p):
            state["start"] = p.detach().clone()

        def update(self, p, grad, state):
            p.sub_(0.1 * (grad + 0.01 * (p - state["start"])))

    silent(*(lambda kind=kind: trained_by(kind) for kind in (Ahead, Scaled, Anchored)))
