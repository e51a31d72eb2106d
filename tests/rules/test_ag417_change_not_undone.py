"""AG417: weights that are changed for an evaluation, and not changed back before training continues."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Adapted(nn.Linear):
    """A frozen layer with a low-rank update."""

    def __init__(self):
        super().__init__(4, 4)
        self.requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.zeros(4, 2))
        self.merged = False

    def forward(self, x):
        y = super().forward(x)
        return y if self.merged else y + x @ self.down.t() @ self.up.t()

    @torch.no_grad()
    def merge(self):
        self.weight += self.up @ self.down  # Merged.

    @torch.no_grad()
    def merge_by_copy(self):
        self.weight.copy_(self.weight + self.up @ self.down)  # Copied.

    @torch.no_grad()
    def take_out(self):
        self.weight -= self.up @ self.down


def rounds(between, count=3, net=None):
    net = net or nn.Sequential(Adapted(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for _ in range(count):
        trained(optimizer, net(X).pow(2).mean())
        between(net[0])
    return net


def evaluate(layer):
    layer.merged = True
    with torch.no_grad():
        print(float(layer(X).mean()))
    layer.merged = False


def test_a_merge_at_each_evaluation():
    """In place, or by a copy of the sum: training goes on with it in the weight, and the next adds to it."""

    def merged(merge):
        def between(layer):
            merge(layer)
            evaluate(layer)

        return lambda: rounds(between)

    for merge, line in ((Adapted.merge, "# Merged."), (Adapted.merge_by_copy, "# Copied.")):
        diagnosed(
            merged(merge), "AG417", line, "0.weight", "0.down", "0.up", "3 times", severity="warning", where=merge
        )


def test_a_merge_that_is_undone():
    """Subtracted again, or written back; by one line with the other sign; in a copy of the model; only once."""

    def subtracted(layer):
        layer.merge()
        evaluate(layer)
        layer.take_out()

    def written_back(layer):
        kept = layer.weight.clone()
        layer.merge()
        evaluate(layer)
        with torch.no_grad():
            layer.weight.copy_(kept)

    def by_sign(layer):
        for sign in (1, -1):
            with torch.no_grad():
                layer.weight.add_(sign * layer.up @ layer.down)
            evaluate(layer)

    def in_a_copy(layer):
        other = copy.deepcopy(layer)
        other.merge()
        evaluate(other)

    calm(
        lambda: rounds(subtracted),
        lambda: rounds(written_back),
        lambda: rounds(by_sign),
        lambda: rounds(in_a_copy),
        lambda: evaluate(rounds(lambda layer: None)[0]),
    )


def test_a_merge_after_which_the_adapter_begins_anew():
    """ReLoRA: the weight keeps each merge on purpose, and a new adapter begins with a product of zero."""

    def begun_anew(layer):
        layer.merge()
        with torch.no_grad():
            layer.up.zero_()
            layer.down.normal_()

    calm(lambda: rounds(begun_anew))


def test_changes_of_weights_that_are_none():
    """Averages, decays and soft updates read what they write; a sum of weights is divided before it is used."""
    target, total = nn.Linear(4, 4), nn.Linear(4, 4)

    def plain():
        return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))

    @torch.no_grad()
    def soft_update(layer):
        for t, p in zip(target.parameters(), layer.parameters(), strict=True):
            t.add_(0.1 * (p - t))
        target(X)

    @torch.no_grad()
    def average(layer):
        for t, p in zip(target.parameters(), layer.parameters(), strict=True):
            t.mul_(0.9).add_(p, alpha=0.1)
        target(X)

    @torch.no_grad()
    def decay(layer):
        layer.weight.sub_(0.01 * layer.weight)

    @torch.no_grad()
    def add_up(layer):
        for t, p in zip(total.parameters(), layer.parameters(), strict=True):
            t.add_(p)

    calm(
        lambda: rounds(soft_update, net=plain()),
        lambda: rounds(average, net=plain()),
        lambda: rounds(decay, net=plain()),
        lambda: rounds(add_up, net=plain()),
    )


class Merging(Adapted):
    """Merges in eval(), and takes the merge out in train()."""

    checks = False

    def train(self, mode=True):
        if mode and self.merged:
            self.take_out()
        if not mode and not (self.checks and self.merged):
            self.merge()
        self.merged = not mode
        return super().train(mode)


class Checking(Merging):
    """Knows that it is merged."""

    checks = True


def twice(layer):
    layer.eval()
    layer.eval()
    with torch.no_grad():
        print(float(layer(X).mean()))
    layer.train()


def test_a_merge_that_is_done_twice_and_undone_once():
    """An evaluation that calls another one: the weight keeps one of the two values."""
    diagnosed(
        lambda: rounds(twice, net=nn.Sequential(Merging(), nn.Linear(4, 2))), "AG417", "# Merged.",
        "0.weight", "twice", severity="warning", where=Adapted.merge,
    )  # fmt: skip


def test_merges_that_are_undone_as_often():
    """By a flag, or each by its own train(); one that is written back as a whole."""

    def nested(layer):
        layer.merge()
        layer.merge()
        layer.take_out()
        layer.take_out()

    def restored(layer):
        kept = layer.weight.clone()
        layer.merge()
        layer.merge()
        layer.take_out()
        with torch.no_grad():
            layer.weight.copy_(kept)

    calm(lambda: rounds(twice, net=nn.Sequential(Checking(), nn.Linear(4, 2))), lambda: rounds(nested))
