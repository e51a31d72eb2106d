"""AG107: leaves that are plain attributes of a module and are read by other methods than forward."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class Scored(nn.Module):
    """A classifier with a temperature, which only ``score`` reads."""

    def __init__(self, make):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.temperature = make(torch.ones(1))

    def score(self, x):
        return self.net(x) / self.temperature


def fitted(model, *more, after=lambda model: None):
    optimizer = torch.optim.SGD([*model.parameters(), *more], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model.score(X), Y).backward()
        optimizer.step()
        after(model)


def bare(tensor):
    return tensor.requires_grad_(True)  # bare


def test_attribute_that_a_method_reads():
    """It gets a gradient in each step, is in no optimizer, and nobody else asks for the gradient."""
    diagnosed(
        lambda: fitted(Scored(bare)), "AG107", "# bare", "temperature", "nn.Parameter", severity="warning", where=bare
    )
    calm(lambda: fitted(Scored(nn.Parameter)))


def test_attribute_of_a_part():
    """The module that has it is a part of another."""

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = Scored(bare)

        def score(self, x):
            return self.head.score(x.tanh())

    finding = diagnosed(lambda: fitted(Whole()), "AG107", "# bare", "temperature", severity="warning", where=bare)
    assert "Scored.parameters() omits it" in finding.message


def test_attributes_that_learn_otherwise():
    """An optimizer has it, the program moves it by hand, it is constant, or it is another one in each step."""

    def handed():
        model = Scored(bare)
        fitted(model, model.temperature)

    def by_hand():
        def move(model):
            with torch.no_grad():
                model.temperature -= 0.1 * model.temperature.grad
                model.temperature.grad = None

        fitted(Scored(bare), after=move)

    def another():
        def renew(model):
            model.temperature = torch.ones(1, requires_grad=True)

        fitted(Scored(bare), after=renew)

    calm(handed, by_hand, another, lambda: fitted(Scored(lambda tensor: tensor)))


class Buffered(nn.Module):
    """A classifier with a temperature that is a buffer."""

    def __init__(self, make):
        super().__init__()
        self.net = nn.Linear(4, 2)
        self.register_buffer("temperature", make(torch.ones(1)))

    def forward(self, x):
        return self.net(x) / self.temperature

    score = forward


def test_buffer_that_gets_gradients():
    """It has a name in the module, and parameters() omits it all the same."""

    def program():
        model = Buffered(bare)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(X), Y).backward()
            optimizer.step()

    diagnosed(program, "AG107", "# bare", "temperature", "buffer", severity="warning", where=bare)


def test_buffers_that_somebody_moves():
    """A constant, one that the optimizer was given, one that the program moves by its gradient."""

    def by_hand(model):
        with torch.no_grad():
            model.temperature -= 0.1 * model.temperature.grad
            model.temperature.grad = None

    def given():
        model = Buffered(bare)
        fitted(model, model.temperature)

    calm(lambda: fitted(Buffered(torch.clone)), given, lambda: fitted(Buffered(bare), after=by_hand))
