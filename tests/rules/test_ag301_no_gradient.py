"""AG301: parameters meant to learn that no backward reached."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, line_of, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.main, self.aux = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.trunk(x).relu()
        return self.main(hidden), self.aux(hidden)


def fit(net, loss_of, steps=2):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(steps):
        trained(optimizer, loss_of(net, step))


def test_head_whose_output_is_dropped():
    """An auxiliary head that runs and is left out of the loss does not learn; weighted with 0 it is reached."""

    def main_only(net, _):
        output, _auxiliary = net(X)
        return F.cross_entropy(output, Y)

    def both(net, _):
        output, auxiliary = net(X)
        return F.cross_entropy(output, Y) + 0.0 * auxiliary.sum()

    diagnosed(
        lambda: fit(TwoHeads(), main_only),
        "AG301",
        "self.aux(hidden)",
        "aux.weight",
        severity="warning",
        where=TwoHeads,
    )
    calm(lambda: fit(TwoHeads(), both))


def test_layer_that_forward_forgot():
    """A layer that forward never calls does not learn."""

    class Forgetful(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.middle, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.last(self.first(x).relu())

    def sick():
        net = Forgetful()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(sick, "AG301", "torch.optim.SGD(net.parameters()", "middle.weight", severity="warning")


def test_branch_taken_in_some_steps():
    """Experts and branches that take turns all get gradient in the end."""

    class Switch(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

        def forward(self, x, expert):
            return self.experts[expert](x)

    def program(choose):
        net = Switch()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(4):
            trained(optimizer, net(X, choose(step)).pow(2).mean())

    calm(lambda: program(lambda step: step % 3))


def test_two_optimizers_that_take_turns():
    """What another loss trains in another step is no starved parameter."""

    def program():
        net = TwoHeads()
        first = torch.optim.SGD([*net.trunk.parameters(), *net.main.parameters()], lr=0.1)
        second = torch.optim.SGD(net.aux.parameters(), lr=0.1)
        for step in range(4):
            output, auxiliary = net(X)
            if step % 2:
                trained(second, auxiliary.pow(2).mean())
            else:
                trained(first, F.cross_entropy(output, Y))

    calm(program)


def test_warm_up_of_a_second_stage():
    """A loss term that begins later in the run counts: its head is reached by then."""

    def program():
        net = TwoHeads()
        fit(net, lambda n, step: F.cross_entropy(n(X)[0], Y) + (n(X)[1].pow(2).mean() if step >= 2 else 0), steps=4)

    calm(program)


def test_embedding_of_an_unused_modality():
    """An encoder for an input that is never given does not learn."""

    class Multimodal(nn.Module):
        def __init__(self):
            super().__init__()
            self.text, self.image, self.head = nn.Linear(4, 4), nn.Linear(6, 4), nn.Linear(4, 2)

        def forward(self, text=None, image=None):
            hidden = 0
            if text is not None:
                hidden = hidden + self.text(text)
            if image is not None:
                hidden = hidden + self.image(image)
            return self.head(hidden)

    def program(**inputs):
        net = Multimodal()
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        trained(optimizer, F.cross_entropy(net(**inputs), Y))

    diagnosed(lambda: program(text=X), "AG301", "torch.optim.AdamW(", "image.weight", severity="warning", where=program)
    calm(lambda: program(text=X, image=torch.randn(8, 6)))


class Shadowed(nn.Module):
    """A block one of whose norms may be called in place of the other."""

    def __init__(self, second):
        super().__init__()
        self.first_norm = nn.LayerNorm(4)
        self.second_norm = nn.LayerNorm(4)
        self.mix, self.feed = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second = second

    def forward(self, x):
        hidden = x + self.mix(self.first_norm(x))
        norm = self.second_norm if self.second else self.first_norm
        return hidden + self.feed(norm(hidden))


class Untaught(nn.Module):
    """A bare parameter that forward leaves out."""

    def __init__(self, use):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        self.offset = nn.Parameter(torch.zeros(2))
        self.use = use

    def forward(self, x):
        return self.body(x) + self.offset if self.use else self.body(x)


def lines_of(found, role):
    return [place.lineno for place in found.locations if place.role == role]


def test_where_a_forgotten_layer_was_made_and_which_forward_forgot_it():
    """The line that made what never took part is shown, and the lines of the forward that should have used it."""

    def program(second):
        net = nn.Sequential(*[Shadowed(second) for _ in range(2)])
        fit(net, lambda n, _: n(X).pow(2).mean())

    found = diagnosed(
        lambda: program(False), "AG301", "torch.optim.Adam(", "0.second_norm.weight", "1.second_norm.bias",
        severity="warning", where=fit,
    )  # fmt: skip
    assert lines_of(found, "created here") == [line_of(Shadowed, "self.second_norm = ")]
    forward = lines_of(found, "forward without it")
    assert line_of(Shadowed, "return hidden + self.feed(norm(hidden))") in forward
    calm(lambda: program(True))


def test_a_bare_parameter_that_a_forward_of_calls_alone_forgot():
    """A forward that only calls other modules is shown by the lines that call them."""

    def program(use):
        fit(Untaught(use), lambda n, _: n(X).pow(2).mean())

    found = diagnosed(
        lambda: program(False), "AG301", "torch.optim.Adam(", "offset", severity="warning", where=fit
    )  # fmt: skip
    assert lines_of(found, "created here") == [line_of(Untaught, "self.offset = ")]
    assert lines_of(found, "forward without it") == [line_of(Untaught, "return self.body(x)")]
    calm(lambda: program(True))


def test_frozen_while_it_trained():
    """What was frozen at every step was not meant to learn, whatever requires grad at the end."""

    def probing():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        net[0].requires_grad_(False)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        for _ in range(3):
            trained(optimizer, F.cross_entropy(net(X), Y))
        net.requires_grad_(True)

    def exported():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        unused = nn.Linear(4, 2)
        optimizer = torch.optim.AdamW([*net.parameters(), *unused.parameters()], lr=0.01)
        for _ in range(3):
            trained(optimizer, F.cross_entropy(net(X), Y))
        net.requires_grad_(False)
        unused.requires_grad_(False)

    calm(probing)
    diagnosed(exported, "AG301", "optimizer = torch.optim.AdamW", "unused.weight", severity="warning", where=exported)


@pytest.mark.parametrize("layer", [0, 2])
def test_thawed_after_the_forward(layer):
    """A layer that is frozen in the forward and thawed for the step took part, frozen: not "in no forward"."""

    def program():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net[layer].requires_grad_(False)
            loss = F.cross_entropy(net(X), Y)
            net[layer].requires_grad_(True)
            trained(optimizer, loss)

    finding = diagnosed(program, "AG301", "net[layer].requires_grad_(True)", f"{layer}.weight", severity="warning")
    assert "requires_grad was False" in finding.message


def test_called_under_no_grad_only():
    """A layer that is only called where grad mode is off, and not for the loss, is not "in no forward"."""

    def program():
        net, watched = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*net.parameters(), *watched.parameters()], lr=0.1)
        for _ in range(3):
            trained(optimizer, F.cross_entropy(net(X), Y))
            with torch.no_grad():
                watched(X)

    finding = diagnosed(program, "AG301", "            watched(X)", "watched.weight", severity="warning")
    assert "autograd did not record" in finding.message


def _mixture(rows, *, spare):
    """Experts, each for its own rows; ``spare``: the last of them is for none."""

    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

        def forward(self, x):
            chosen = range(2) if spare else rows
            return sum(self.experts[i](x) for i in chosen).sum()

    return Mixture()


def test_an_expert_that_no_data_chose():
    """Where other members of the list ran in one step and not in the next, the data choose: an info."""

    def program(turns):
        rows = []
        net = _mixture(rows, spare=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for chosen in turns:
            rows[:] = chosen
            trained(optimizer, net(torch.randn(2, 4)))

    report = inspected(lambda: program([[0], [1]]))
    assert [(f.rule, f.severity) for f in report.findings] == [("AG301", "info")]
    assert set(report.findings[0].subjects) == {"net.experts.2.weight", "net.experts.2.bias"}


def test_a_layer_that_every_forward_leaves_out():
    """Where each step ran the same members of the list, the one that is left out is forgotten: a warning."""

    def program():
        net = _mixture([], spare=True)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(torch.randn(2, 4)))

    report = inspected(program)
    assert [(f.rule, f.severity) for f in report.findings] == [("AG301", "warning")]


def test_unfrozen_after_the_last_step():
    """A layer that is unfrozen and added for a phase that has not begun yet is no missing gradient."""

    def unfrozen():
        layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        layers[0].requires_grad_(False)
        optimizer = torch.optim.SGD(layers[1].parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            layers(torch.randn(4, 3)).pow(2).mean().backward()
            optimizer.step()
        layers[0].requires_grad_(True)
        optimizer.add_param_group({"params": layers[0].parameters()})

    calm(unfrozen)


def test_choices_by_a_number():
    """What a parameter chooses by `item()` does not train it; what is weighted by it does."""

    def program(*, weighted):
        gate, first, second = nn.Parameter(torch.tensor([1.0, 0.0])), nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([gate, *first.parameters()], lr=0.1)
        for _ in range(2):
            shares = gate.softmax(0)
            chosen = shares.argmax().item()  # Leaves.
            out = (first, second)[chosen](X)
            trained(optimizer, (shares[chosen] * out if weighted else out).pow(2).mean())

    diagnosed(
        lambda: program(weighted=False), "AG301", "# Leaves.", "gate", "as an index", severity="warning", where=program
    )
    calm(lambda: program(weighted=True))
