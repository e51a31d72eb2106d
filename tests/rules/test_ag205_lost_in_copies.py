"""AG205: writes that are lost in a copy, and results that a constant goes on without."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parametrizations

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def bounded(after, net=None):
    net = net or parametrizations.spectral_norm(nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())
        with torch.no_grad():
            after(net)


def of(net):
    return net.weight  # Computed.


def clamped(net):
    of(net).clamp_(min=0)  # Lost.


def test_a_write_to_what_a_called_function_computed():
    """The function gives another tensor each time: the line that writes comes first, then the one that computed it."""
    finding = diagnosed(lambda: bounded(clamped), "AG205", "# Lost.", "original", severity="warning", where=clamped)
    assert any("# Computed." in place.source for place in finding.locations)


def test_a_write_to_what_a_called_function_handed_on():
    """The parameter itself; a tensor that is read after the write."""
    scratch = []

    def kept(net):
        scratch.append(of(net))
        scratch[-1].clamp_(min=0)

    def read(net):
        weight = of(net)
        print(weight.clamp_(min=0).sum().item())

    calm(lambda: bounded(clamped, nn.Linear(4, 2)), lambda: bounded(kept), lambda: bounded(read))


class Transposed(nn.Module):
    """Its weight does not lie in one piece in the order of its elements."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4).t())

    def forward(self, x):
        return x @ self.weight


def nudged(net):
    flat = net.weight.reshape(-1)  # Copied.
    for place in range(2):
        old = flat[place].item()
        flat[place] = old + 1e-3  # Written.
        print(net(X).mean().item())
        flat[place] = old


def shrunk(net):
    flat = net.weight.flatten()  # Copied.
    flat.mul_(0.5)


def test_a_copy_that_was_taken_for_a_view():
    """Of a transposed weight `reshape` cannot return a view: the model never sees what is written."""
    for program in (nudged, shrunk):
        diagnosed(
            lambda program=program: bounded(program, Transposed()), "AG205", "# Copied.", "weight", "copy",
            severity="warning", where=program,
        )  # fmt: skip


def test_copies_that_are_used():
    """A view, a copy that is read once it has been written to, an average that steps come in between of."""

    def normed(net):
        flat = net.weight.reshape(-1)
        flat /= len(flat)
        print(flat.norm().item())

    def written_back(net):
        flat = net.weight.reshape(-1)
        flat.clamp_(-1, 1)
        net.weight.copy_(flat.view(4, 2))

    def averaged():
        net = Transposed()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with torch.no_grad():
            average = net.weight.reshape(-1)
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())
            with torch.no_grad():
                average.lerp_(net.weight.reshape(-1), 0.1)

    calm(lambda: bounded(nudged, nn.Linear(4, 2)), averaged)
    calm(lambda: bounded(normed, Transposed()), lambda: bounded(written_back, Transposed()))


def messages(gather):
    first, last = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    index = torch.arange(8) % 3
    for _ in range(2):
        optimizer.zero_grad()
        out = gather(torch.zeros(3, 4), index, first(X))
        last(out / 2).pow(2).mean().backward()
        optimizer.step()


def dropped(out, index, message):
    out.index_add(0, index, message)  # Dropped.
    return out


def test_a_sum_into_zeros_that_is_dropped():
    """What it was to be added to needs no gradient, and neither does what is computed of it, up to the next layer."""
    diagnosed(
        lambda: messages(dropped), "AG205", "# Dropped.", "index_add", "nothing uses", severity="warning", where=dropped
    )
    calm(lambda: messages(lambda out, index, message: out.index_add(0, index, message)))


def test_a_sum_that_is_dropped_and_missed_by_nobody():
    """No loss is computed with what it was to be added to."""

    def looked_at(out, index, message):
        out.index_add(0, index, message)
        print(out.sum().item())
        return message

    calm(lambda: messages(looked_at))
