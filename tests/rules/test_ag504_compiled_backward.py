"""AG504: compiled code that is differentiated as only uncompiled code can be."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Critic(nn.Module):
    """Saves what it computes on the way."""

    def __init__(self):
        super().__init__()
        self.body, self.score = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.score(torch.sin(self.body(torch.sin(x))))


def compiled(backend="aot_eager"):
    return torch.compile(Critic(), backend=backend)


def test_a_gradient_penalty_of_a_compiled_critic():
    """The call of the compiled critic comes first, with what runs it uncompiled; other compiled code is not meant."""
    critic, other = compiled(), torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), backend="aot_eager")

    def program():
        x = torch.randn(3, 4, requires_grad=True)
        fake = other(torch.randn(3, 4))
        score = critic(x + fake)
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        (slope.norm() - 1).pow(2).backward()

    names = ("Critic is compiled", 'torch.compiler.set_stance("force_eager")', 'backend="eager"')
    finding = diagnosed(program, "AG504", "score = critic", *names, severity="error")
    assert [place.lineno for place in finding.locations if place.role != "called from"] == [
        line_of(program, text) for text in ("score = critic", "create_graph=True", "slope.norm()")
    ]


def test_two_compiled_parts_of_what_is_differentiated_again():
    """Both are named, for both have to run uncompiled."""
    critic, body = compiled(), torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), backend="aot_eager")

    def program():
        x = torch.randn(3, 4, requires_grad=True)
        score = critic(body(x))
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        (slope.norm() - 1).pow(2).backward()

    diagnosed(program, "AG504", "score = critic", "Critic", "Sequential", "are compiled", severity="error")


def test_a_gradient_that_the_compiled_code_takes_itself():
    """Its create_graph=True lies within the graph, and nobody can go on from there."""

    @torch.compile(backend="aot_eager")
    def slope_of(x):
        return torch.autograd.grad(x.pow(4).sum(), x, create_graph=True)[0]

    def program():
        x = torch.ones(3, requires_grad=True)
        slope = slope_of(x)
        slope.sum().backward()

    diagnosed(program, "AG504", "slope = slope_of", "slope_of is compiled", severity="error")


def test_a_graph_that_is_kept_after_one_that_was_not():
    """The backward that keeps it comes first, then the call, then the backward for which it was compiled."""
    critic = compiled()

    def program():
        critic(torch.ones(2, 4)).sum().backward()
        score = critic(torch.ones(2, 4))
        torch.autograd.grad(score.sum(), critic.score.weight, retain_graph=True)
        score.pow(2).sum().backward()

    finding = diagnosed(program, "AG504", "retain_graph=True", "Critic", "donated_buffer = False", severity="error")
    assert [place.lineno for place in finding.locations if place.role != "called from"] == [
        line_of(program, text) for text in ("retain_graph=True", "score = critic", "critic(torch.ones(2, 4)).sum()")
    ]


def test_where_nothing_is_refused():
    """Run uncompiled, or kept from the first backward on."""
    critic = compiled()

    def uncompiled():
        x = torch.randn(3, 4, requires_grad=True)
        with torch.compiler.set_stance("force_eager"):
            (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        (critic(x).mean() + slope.pow(2).sum()).backward()

    def kept_at_once():
        score = critic(torch.ones(2, 4))
        score.sum().backward(retain_graph=True)
        score.pow(2).sum().backward(retain_graph=True)

    calm(uncompiled)
    torch._dynamo.reset()
    calm(kept_at_once)


def test_a_backend_whose_backward_is_autograds_own():
    """With the backend "eager" all can be differentiated again."""
    critic = compiled("eager")

    def program():
        x = torch.randn(3, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        slope.pow(2).sum().backward()

    calm(program)
