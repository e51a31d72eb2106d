"""AG416: averages and slow weights that were copied before a checkpoint was loaded."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def make():
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))


class Average:
    """Of the weights, in a model of its own."""

    def __init__(self, model):
        self.model = copy.deepcopy(model).requires_grad_(False)  # copied

    @torch.no_grad()
    def update(self, model):
        for mine, its in zip(self.model.parameters(), model.parameters(), strict=True):
            mine.mul_(0.9).add_(its, alpha=0.1)


class Shadow:
    """Of the weights, by name."""

    def __init__(self, model):
        self.kept = {name: p.data.clone() for name, p in model.named_parameters()}  # copied

    def update(self, model):
        for name, p in model.named_parameters():
            self.kept[name] = 0.9 * self.kept[name] + 0.1 * p.data
            p.data.copy_(self.kept[name])


class Slow:
    """The weights that those of the model go back to."""

    def __init__(self, model):
        self.kept = [p.detach().clone() for p in model.parameters()]  # copied

    @torch.no_grad()
    def update(self, model):
        for p, slow in zip(model.parameters(), self.kept, strict=True):
            p.lerp_(slow, 0.5)
            slow.copy_(p)


class AtOnce(Slow):
    """The same for all of them at once."""

    @torch.no_grad()
    def update(self, model):
        torch._foreach_lerp_(self.kept, list(model.parameters()), 0.1)


def resumed(make_average, *, late=False, prepare=lambda model: None, refresh=lambda average, model: None, steps=2):
    model, checkpoint = make(), make().state_dict()
    prepare(model)
    average = None if late else make_average(model)
    model.load_state_dict(checkpoint)
    average = average or make_average(model)
    refresh(average, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        trained(optimizer, model(X).pow(2).mean())
        average.update(model)


@pytest.mark.parametrize("average", [Average, Shadow, Slow, AtOnce])
def test_average_that_begins_before_the_load(average):
    """The line that copies; made after the load, it averages what belongs together."""
    where = Slow if average is AtOnce else average
    finding = diagnosed(
        lambda: resumed(average), "AG416", "# copied", "older than Sequential.load_state_dict()",
        severity="warning", where=where.__init__,
    )  # fmt: skip
    assert "model.load_state_dict(checkpoint)" in "".join(place.source or "" for place in finding.locations)
    calm(lambda: resumed(average, late=True))


def test_copies_that_are_made_anew():
    """What was loaded as well, or is copied over in the first update, has nothing of the values of before."""

    def load(average, model):
        average.model.load_state_dict(model.state_dict())

    @torch.no_grad()
    def wipe(average, model):
        for mine, its in zip(average.model.parameters(), model.parameters(), strict=True):
            mine.mul_(0).add_(its)

    class Torchs:
        def __init__(self, model):
            self.model = AveragedModel(model)

        def update(self, model):
            self.model.update_parameters(model)

    calm(
        lambda: resumed(Average, refresh=load),
        lambda: resumed(Average, refresh=wipe),
        lambda: resumed(Torchs),
    )


def test_weights_that_are_mixed_on_purpose():
    """Two trained models, a model with what it was, and a copy that is put back, are mixed as the program wants it."""

    def pretrained(model):
        model.load_state_dict(make().state_dict())

    def interpolated():
        resumed(Slow, refresh=lambda slow, model: slow.update(model), steps=0)

    def put_back():
        model, other = make(), make().state_dict()
        kept = [p.detach().clone() for p in model.parameters()]
        model.load_state_dict(other)
        model(X)
        with torch.no_grad():
            for p, value in zip(model.parameters(), kept, strict=True):
                p.copy_(value)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, model(X).pow(2).mean())

    def meta():
        model = make()
        slow = [p.detach().clone() for p in model.parameters()]
        for _ in range(3):
            start = copy.deepcopy(model.state_dict())
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            trained(optimizer, model(X).pow(2).mean())
            moved = {name: start[name] + 0.5 * (value - start[name]) for name, value in model.state_dict().items()}
            model.load_state_dict(moved)
        return slow

    calm(lambda: resumed(Slow, prepare=pretrained), interpolated, put_back, meta)
