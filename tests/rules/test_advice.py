"""What findings say of a cut, and the advice that they give."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector.advice.quoting import in_place
from autograd_inspector.source.fragments import uncommented

from .programs import alarms, diagnosed, inspected, line_of, quoted, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class Choosing(nn.Module):
    """A gate that picks one of two layers, and an offset that may be cast to an integer."""

    def __init__(self, choose):
        super().__init__()
        self.gate, self.layers = nn.Linear(4, 2), nn.ModuleList(nn.Linear(4, 2) for _ in range(2))
        self.offset = nn.Parameter(torch.tensor(1.5))
        self.choose = choose

    def forward(self, x):
        weight = self.choose(self, x)
        return sum(weight[:, i : i + 1] * layer(x) for i, layer in enumerate(self.layers))


def hard(net, x):
    return F.one_hot(net.gate(x).argmax(1), 2).float() * net.offset


def soft(net, x):
    return net.gate(x).softmax(1) * net.offset


def rounded(net, x):
    return net.gate(x).softmax(1) * net.offset.long()


def doubled(net, x):
    return (net.gate(x) * 2).detach().softmax(1) * net.offset


def fit(choose):
    net = Choosing(choose)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(2):
        trained(optimizer, (net(X) - 1).pow(2).mean())


def test_what_a_cut_inside_a_module_keeps_out():
    """A cut within a forward keeps out what goes into it: a layer's output, a parameter or the result of an op."""
    found = diagnosed(lambda: fit(hard), "AG104", "argmax(1)", "gate.weight", severity="warning", where=hard)
    assert "output of net.gate" in found.message
    found = diagnosed(lambda: fit(doubled), "AG101", ".detach()", "gate.weight", severity="warning", where=doubled)
    assert "result of `mul`" in found.message
    found = diagnosed(lambda: fit(rounded), "AG104", ".long()", "offset", severity="warning", where=rounded)
    assert "cuts net.offset" in found.message
    calm(lambda: fit(soft))


class Leaking:
    """A context manager that switches grad mode off for good."""

    def __enter__(self):
        torch.set_grad_enabled(False)

    def __exit__(self, *_):
        pass


def test_a_mode_that_leaked_out_of_a_block():
    """An op that stands before the block whose manager leaked is not said to be in the block."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))
            with Leaking():
                net(X).argmax(1)

    (found,) = alarms(inspected(program))
    assert found.rule == "AG102"
    assert "still active" in found.message
    assert "block" not in found.fix


@contextlib.contextmanager
def measured(_name):
    """A manager that switches grad mode off as long as it lasts."""
    with torch.no_grad():
        yield


def test_the_block_is_quoted_without_its_comment():
    """Advice quotes code, not the comment behind it."""

    def program():
        first, second = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for _ in range(2):
            with measured("a # b"):  # how long does it take?
                hidden = first(X)
            trained(optimizer, F.cross_entropy(second(hidden), Y))

    (found,) = alarms(inspected(program))
    assert quoted(found.fix) == ['with measured("a # b"):']
    assert [uncommented(line) for line in ("f(x)  # so", "if x:", "f('#')", "g(")] == ["f(x)", "if x:", "f('#')", "g("]


class Extractor:
    """A method that is wrapped, not decorated."""

    def __init__(self, net, wrap):
        self.net = net
        self.extract = torch.no_grad()(self._extract) if wrap else self._extract

    def _extract(self, x):
        return self.net(x)


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("w = w - 0.1 * w.grad  # by hand", "w -= 0.1 * w.grad"),
        ("self.w[0] = self.w[0] + step", "self.w[0] += step"),
        ("w = w * (a + b)", "w *= a + b"),
        ("w = w - a - b", ""),
        ("w = v - a", ""),
        ("a = w = w - 1", ""),
        ("for p in net: p = p - 1", ""),
        ("w = w -", ""),
        ("w = w @ v", ""),
    ],
)
def test_the_in_place_form_of_a_line(line, instead):
    """It means the same as the line; a line that has none gets none."""
    assert in_place(line) == instead


def test_a_weight_that_was_replaced_by_its_update():
    """Whatever the error that follows, the advice is the program's own statement, in place."""

    def unrecorded():
        w = torch.zeros(4, 2, requires_grad=True)
        for _ in range(2):
            F.cross_entropy(X @ w, Y).backward()
            with torch.no_grad():
                w = w - 0.1 * w.grad

    def recorded():
        w = torch.zeros(4, 2, requires_grad=True)
        for _ in range(2):
            F.cross_entropy(X @ w, Y).backward()
            w = w - 0.1 * w.grad

    finding = diagnosed(unrecorded, "AG102", "torch.no_grad()", "w", severity="error")
    assert "w -= 0.1 * w.grad" in quoted(finding.fix)
    finding = diagnosed(recorded, "AG302", "w = w", "w", severity="error")
    assert "w -= 0.1 * w.grad" in quoted(finding.fix)


def test_a_function_that_was_wrapped():
    """The line that wraps a function is shown, and nobody is told to take off a decorator that is not there."""

    def program(*, wrap):
        first, second = nn.Linear(4, 4), nn.Linear(4, 2)
        extractor = Extractor(first, wrap)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(second(extractor.extract(X)), Y))

    found = diagnosed(
        lambda: program(wrap=True), "AG102", "torch.no_grad()(self._extract)", "first.weight",
        severity="warning", where=Extractor,
    )  # fmt: skip
    assert "decorator" not in found.fix
    calm(lambda: program(wrap=False))


@pytest.mark.parametrize("edit", ["clamp_", "copy_"])
def test_weights_edited_through_data_before_backward(edit):
    """Parameters are to be edited after backward, whichever alias edits them."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        loss = net(X).pow(2).mean()
        for parameter in net.parameters():
            getattr(parameter.data, edit)(*((-0.05, 0.05) if edit == "clamp_" else (torch.zeros(1),)))
        loss.backward()

    found = alarms(inspected(program))
    assert {f.rule for f in found} == {"AG202"}
    assert all("after backward()" in f.fix for f in found)


def test_group_that_an_optimizer_has_already():
    """Advice about a second group names what the program has, and of add_param_group that a group can be changed."""

    def made():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        torch.optim.SGD([{"params": net.parameters()}, {"params": net[1].parameters(), "lr": 0.01}], lr=0.1)

    def added():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        torch.optim.SGD(net.parameters(), lr=0.1).add_param_group({"params": net[1].parameters(), "lr": 0.01})

    (first,), (second,) = alarms(inspected(made)), alarms(inspected(added))
    assert first.rule == second.rule == "AG407"
    names = {"net": nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))}
    exec(quoted(first.fix)[0], names)
    assert len(names["rest"]) == 2
    assert "group's lr" in second.fix


def test_optimizer_built_anew_under_a_scheduler():
    """The learning rate of the advice is the one that the optimizer was made with."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
        scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1)
        net[1] = nn.Linear(4, 2)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
            scheduler.step()

    found = diagnosed(program, "AG405", "net[1] = nn.Linear", "1.weight", severity="warning")
    assert "torch.optim.SGD(net.parameters(), lr=0.5)" in found.fix


def test_inference_tensor_from_before_the_capture():
    """A view of an inference tensor, taken inside the capture, was not made there."""
    net = nn.Linear(4, 2)
    with torch.inference_mode():
        anchors = torch.randn(3, 2)
    with autograd_inspector.inspect() as inspection, contextlib.suppress(RuntimeError):
        (net(X) @ anchors.T).logsumexp(1).mean().backward()
    (found,) = alarms(inspection.report)
    assert found.rule == "AG103", summary(inspection.report)
    assert "before the capture" in found.message
    assert [place.role for place in found.locations][:1] == ["used here"]


def test_one_line_that_takes_several_values_out():
    """One line is one finding, however its values leave and come back."""

    class Scaled(nn.Module):
        def __init__(self, keep):
            super().__init__()
            self.scales = nn.ParameterList([nn.Parameter(torch.tensor(float(i + 1))) for i in range(3)])
            self.linear, self.keep = nn.Linear(4, 3), keep

        def forward(self, x):
            if self.keep:
                return self.linear(x) / torch.stack(list(self.scales))
            return self.linear(x) / torch.tensor([float(scale) for scale in self.scales])

    def program(keep):
        net = Scaled(keep)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).logsumexp(1).mean())

    found = diagnosed(
        lambda: program(False), "AG105", "torch.tensor([float(", "scales.0", "scales.1", "scales.2",
        severity="warning", where=Scaled,
    )  # fmt: skip
    assert all(f"scales.{i}" in found.fix for i in range(3))
    calm(lambda: program(True))


class Annealed(nn.Module):
    """A temperature that falls within the checkpointed function."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("heat", torch.ones(()))

    def inner(self, x):
        hidden = (self.linear(x) * self.heat).tanh()
        with torch.no_grad():
            self.heat.mul_(0.5)
        return hidden

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=True)


def test_an_edit_that_autograd_refused_is_not_silent():
    """Where backward raised for a tensor, nobody is told that its gradients are silently wrong."""

    def program():
        Annealed()(X.clone().requires_grad_()).sum().backward()

    found = diagnosed(program, "AG201", "self.heat.mul_(0.5)", "heat", severity="error", where=Annealed)
    assert line_of(Annealed, "self.linear(x) * self.heat") in [place.lineno for place in found.locations]


def test_a_detached_value_that_several_backwards_use():
    """Its graph would serve one backward only: it is to be computed anew, not to be used undetached."""

    def program(anew):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        features = body(X).detach()
        for _ in range(2):
            trained(optimizer, F.cross_entropy(head(body(X) if anew else features), Y))

    def once():
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
        trained(optimizer, F.cross_entropy(head(body(X).detach()), Y))

    found = diagnosed(lambda: program(anew=False), "AG101", ".detach()", severity="warning", where=program)
    assert "recompute" in found.fix.lower()
    calm(lambda: program(anew=True))
    found = diagnosed(once, "AG101", ".detach()", severity="warning")
    assert "the tensor itself" in found.fix
