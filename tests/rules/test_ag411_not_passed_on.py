"""AG411: a ``train()`` of the program's own that does not pass the mode on."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.first(x)))


class OwnModeOnly(Layers):
    def train(self, mode=True):
        self.training = mode
        self.norm.eval()
        return self


class SetsModeOfNorm(OwnModeOnly):
    """The method of its base class is at fault."""


def rounds(net, look=True):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        net.train()
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        optimizer.step()
        net.eval()
        if look:
            with torch.no_grad():
                net(X)


def test_dropout_stays_on_in_an_evaluation():
    """The backbone sets its own mode alone: its dropout drops values after `eval()` of the model, or of itself."""

    def inner():
        rounds(nn.Sequential(OwnModeOnly(), nn.Linear(4, 1)))

    def inherited():
        rounds(nn.Sequential(nn.Sequential(SetsModeOfNorm()), nn.Linear(4, 1)))

    def outer():
        rounds(OwnModeOnly())

    for program in (inner, inherited, outer):
        finding = diagnosed(
            program, "AG411", "self.training = mode", "drop", "at random", severity="warning", where=OwnModeOnly.train
        )
        assert "super().train(mode)" in finding.fix
        assert finding.edits


def test_statistics_go_on_in_an_evaluation():
    """A batch norm that stays in train mode updates its statistics."""

    class Backbone(Layers):
        def train(self, mode=True):
            self.training = mode
            self.drop.eval()
            return self

    def program():
        rounds(nn.Sequential(Backbone(), nn.Linear(4, 1)))

    diagnosed(
        program, "AG411", "self.training = mode", "norm", "running statistics", severity="warning", where=Backbone.train
    )


class WithoutTheMode(Layers):
    def train(self, mode=True):
        super().train()
        self.norm.eval()
        return self


def test_the_base_class_is_not_given_the_mode():
    """`eval()` puts the model into train mode. A method that says True wants that, as does who calls it later."""

    class AsksForTrue(Layers):
        def train(self, mode=True):
            return super().train(True)

    def put_back():
        net = WithoutTheMode()
        rounds(net, look=False)
        net.train()
        with torch.no_grad():
            net(X)

    finding = diagnosed(
        lambda: rounds(WithoutTheMode()),
        "AG411",
        "super().train()",
        "drop",
        "at random",
        severity="warning",
        where=WithoutTheMode.train,
    )
    assert [edit.text for edit in finding.edits] == ["super().train(mode)"]
    calm(lambda: rounds(AsksForTrue()), lambda: rounds(WithoutTheMode(), look=False), put_back)


def test_mode_is_passed_on():
    """By the base class's method, part by part, by a loop, or by flags; or nobody looks at the model."""

    class BySuper(Layers):
        def train(self, mode=True):
            super().train(mode)
            self.training = mode
            self.norm.eval()
            return self

    class PartByPart(Layers):
        def train(self, mode=True):
            self.training = mode
            self.first.train(mode)
            self.norm.eval()
            self.drop.train(mode)
            return self

    class InALoop(Layers):
        def train(self, mode=True):
            self.training = mode
            for child in self.children():
                child.train(mode and child is not self.norm)
            return self

    class ByFlags(Layers):
        def train(self, mode=True):
            for module in self.modules():
                module.training = mode
            return self

    kinds = (BySuper, PartByPart, InALoop, ByFlags)
    calm(*(lambda kind=kind: rounds(nn.Sequential(kind(), nn.Linear(4, 1))) for kind in kinds))
    calm(lambda: rounds(nn.Sequential(OwnModeOnly(), nn.Linear(4, 1)), look=False))


def test_dropouts_that_are_to_stay_on():
    """For samples: a dropout that knows train mode only, or that its module puts back; or the mode is another's."""

    class AlwaysOn(nn.Dropout):
        def train(self, mode=True):
            self.training = True
            return self

    class PutBack(Layers):
        def train(self, mode=True):
            super().train(mode)
            self.drop.train()
            return self

    class SetBack(Layers):
        def train(self, mode=True):
            super().train(mode)
            self.drop.training = True
            return self

    class AllButDropout(Layers):
        def train(self, mode=True):
            self.training = mode
            self.first.train(mode)
            self.norm.train(mode)
            return self

    class LeftInTrainMode(Layers):
        def train(self, mode=True):
            self.training = True
            return self

    calm(
        lambda: rounds(nn.Sequential(nn.Linear(4, 4), AlwaysOn(0.5), nn.Linear(4, 1))),
        *(
            lambda kind=kind: rounds(nn.Sequential(kind(), nn.Linear(4, 1)))
            for kind in (PutBack, SetBack, AllButDropout, LeftInTrainMode)
        ),
    )


def test_layers_that_have_no_modes():
    """What stays in train mode does the same in both."""

    class Backbone(nn.Sequential):
        def train(self, mode=True):
            self.training = mode
            return self

    calm(lambda: rounds(nn.Sequential(Backbone(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1))))


def test_put_back_into_train_mode_before_it_is_called():
    """Whoever calls `train()` after `eval()` wants train mode."""

    def program():
        net = nn.Sequential(OwnModeOnly(), nn.Linear(4, 1))
        rounds(net, look=False)
        net.train()
        with torch.no_grad():
            net(X)

    report = inspected(program)
    assert not [f for f in report.findings if "does not reach" in f.message], summary(report)
