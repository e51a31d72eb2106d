"""AG205: loaded values that a forward overwrites, and writes into a copy of a buffer that the statement drops."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm


class ActNorm(nn.Module):
    """Sets its shift from the first batch; the flag for that is an attribute, or a buffer."""

    def __init__(self, *, flag_is_saved):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        if flag_is_saved:
            self.register_buffer("done", torch.tensor(data=False))
        else:
            self.done = torch.tensor(data=False)

    def forward(self, x):
        if not self.done:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))  # Set.
            self.done.fill_(1)
        return x + self.shift


def resumed(*, flag_is_saved):
    def program():
        first, second = (nn.Sequential(ActNorm(flag_is_saved=flag_is_saved), nn.Linear(4, 2)) for _ in range(2))
        for net in (first, second):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            if net is second:
                net.load_state_dict(copy.deepcopy(first.state_dict()))
            for _ in range(2):
                trained(optimizer, net(torch.randn(8, 4)).pow(2).mean())

    return program


def test_a_flag_that_is_not_in_the_state_dict():
    """The first forward after the load initializes the layer again; with the flag in a buffer it does not."""
    diagnosed(
        resumed(flag_is_saved=False),
        "AG205",
        "# Set.",
        "0.shift",
        "load_state_dict()",
        severity="warning",
        where=ActNorm.forward,
    )
    calm(resumed(flag_is_saved=True))


def test_a_head_that_begins_anew_after_the_load():
    """Who overwrites a part of what was loaded outside of a forward wants it so; clipping reads the loaded values."""

    def program(change):
        def run():
            net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
            net.load_state_dict(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).state_dict())
            change(net)
            trained(torch.optim.SGD(net.parameters(), lr=0.1), net(torch.randn(8, 4)).pow(2).mean())

        return run

    def scaled(net):
        with torch.no_grad():
            net[1].weight.copy_(net[1].weight / net[1].weight.norm())

    calm(program(lambda net: net[1].reset_parameters()), program(scaled))


class Probe(nn.Module):
    """A head on a pretrained encoder; ``begin`` is what the constructor does when both are there."""

    def __init__(self, begin):
        super().__init__()
        self.encoder, self.head = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), nn.Linear(4, 2)
        self.load()
        begin(self)

    def load(self):
        self.encoder.load_state_dict(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)).state_dict())

    def forward(self, x):
        return self.head(self.encoder(x))


def probing(begin):
    def program():
        net = Probe(begin)
        trained(torch.optim.SGD(net.parameters(), lr=0.1), net(torch.randn(8, 4)).pow(2).mean())

    return program


def drawn(module):
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)  # Drawn.
        nn.init.zeros_(module.bias)


def test_weights_that_are_initialized_again_after_the_load():
    """All weights of the load are drawn anew. Who draws those of the head alone, or loads afterwards, loses nothing."""

    def all_of_it(net):
        net.apply(drawn)

    def loaded_again(net):
        net.apply(drawn)
        net.load()

    def looked_at_first(net):
        net.scale = float(net.encoder(torch.ones(2, 4)).std())
        net.apply(drawn)

    diagnosed(
        probing(all_of_it),
        "AG205",
        "# Drawn.",
        "encoder.0.weight",
        "load_state_dict()",
        severity="warning",
        where=drawn,
    )
    calm(probing(lambda net: net.head.apply(drawn)), probing(loaded_again), probing(looked_at_first))


class Counted(nn.Linear):
    def __init__(self, write):
        super().__init__(4, 2)
        self.register_buffer("count", torch.zeros(()))
        self.write = write

    def forward(self, x):
        self.write(self.count)
        return super().forward(x)


def counting(write):
    def program():
        net = Counted(write)
        for _ in range(2):
            trained(torch.optim.SGD(net.parameters(), lr=0.1), net(torch.randn(8, 4)).pow(2).mean())

    return program


def test_a_copy_of_a_buffer_that_is_written_and_dropped():
    """The buffer stays what it is. A copy that is kept, or read, and the buffer itself may be written."""

    def dropped(count):
        count.clone().add_(1)  # Dropped.

    kept = []

    def stored(count):
        kept.append(count.clone().add_(1))

    def read(count):
        seen = count.clone()
        seen.add_(1)
        assert seen > 0

    diagnosed(counting(dropped), "AG205", "# Dropped.", "count", "`clone()`", severity="warning", where=dropped)
    calm(counting(stored), counting(read), counting(lambda count: count.add_(1)))
