"""The same program written otherwise: over several lines, under other names, beside comments that mention something."""

from __future__ import annotations

import copy
import warnings

import schedulefree
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, quoted, silent, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


class Scaled(nn.Module):
    """Multiplies by a bare tensor of its own, or by one that it is given."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.gain = [torch.ones(1, requires_grad=True)]

    def forward(self, x, gains=None):
        (gain,) = gains or self.gain
        return self.linear(x) * gain


def fit(forward):
    net = Scaled()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        trained(optimizer, F.mse_loss(forward(net), Y))


def test_a_tensor_that_a_comment_names_is_no_argument():
    """Whether a model is given a bare tensor is what its call tells, not a name on the call's line."""

    def commented():
        gain = torch.ones(1, requires_grad=True)

        def forward(net):
            net.gain[0] = gain
            return net(X)  # gain is learned, too

        fit(forward)

    def given():
        gain = torch.ones(1, requires_grad=True)

        def forward(net):
            return net(
                X,
                gains=[gain],
            )

        fit(forward)

    report = inspected(commented)
    assert [f.rule for f in report.findings if f.severity != "info"] == ["AG107"]
    silent(given)


def test_a_checkpoint_taken_otherwise():
    """Saving in train mode is seen by who reads the parameters, however the call is written."""

    def program(save, *, switch):
        net = nn.Linear(4, 2)
        optimizer = schedulefree.SGDScheduleFree(net.parameters(), lr=0.01)
        optimizer.train()
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
        if switch:
            optimizer.eval()
        return copy.deepcopy(save(net))

    def prefixed(net):
        return net.state_dict(prefix="net.")

    def renamed(net):
        save = net.state_dict
        return save()

    for save, line in ((prefixed, "prefix="), (renamed, "save()")):
        diagnosed(lambda s=save: program(s, switch=False), "AG410", line, "eval()", severity="warning", where=save)
        calm(lambda s=save: program(s, switch=True))


def test_a_loss_scaled_under_another_name():
    """A loss is scaled by what GradScaler.scale ran, whatever the program calls that."""

    def program(*, unscaled):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        grown = scaler.scale
        for _ in range(2):
            optimizer.zero_grad()
            grown(F.mse_loss(net(X), Y)).backward()
            if unscaled:
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()

    diagnosed(lambda: program(unscaled=False), "AG305", "optimizer.step()", "scale", severity="error", where=program)
    calm(lambda: program(unscaled=True))


def test_a_number_assigned_over_several_lines():
    """`loss.backward()` of a number blames what the loss was made of, and not the number that left last."""

    def program():
        net, other = nn.Linear(4, 1), nn.Linear(4, 1)
        loss = (
            0.5  # log = 1
            * F.mse_loss(net(X), Y).item()
        )
        log = other(X).mean().item()
        assert log != loss
        loss.backward()

    finding = diagnosed(program, "AG105", "* F.mse_loss", "net.weight", severity="error")
    assert "other.weight" not in finding.subjects


def test_a_with_over_several_lines():
    """The block that a `with` opens is known by its syntax: where it ends, and what stands in it."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with (
            warnings.catch_warnings(),
            torch.set_grad_enabled(mode=False),
        ):
            y = net(X)
        trained(optimizer, F.mse_loss(y, Y))

    def stays_on():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.set_grad_enabled(
            mode=False,
        )
        trained(optimizer, F.mse_loss(net(X), Y))

    finding = diagnosed(program, "AG102", "torch.set_grad_enabled(", "net.weight", severity="error")
    assert "Make the condition" in finding.fix
    finding = diagnosed(stays_on, "AG102", "torch.set_grad_enabled(", "net.weight", severity="error")
    assert "stays in effect" in finding.fix


class Stepped(torch.optim.Optimizer):
    """Sign descent that calls its closure by another name."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()  # the fault
    def step(self, closure=None):
        again = closure
        loss = again()
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad.sign(), alpha=group["lr"])
        return loss


def test_a_closure_under_another_name():
    """What a step runs in its closure is known by the step."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = Stepped(net.parameters())

        def compute():
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        optimizer.step(compute)

    finding = diagnosed(program, "AG102", "# the fault", "net.weight", severity="error", where=Stepped)
    assert "`with torch.enable_grad():`" in finding.fix


def restored(solver, parameters, state):
    for p in parameters:
        torch.zeros(1)
        solver.state[p]["momentum_buffer"] = state(p)


class Options:
    """Has a state, too, and the name of an optimizer in the program below."""

    def __init__(self):
        self.state = {}


class Held:
    """Keeps its optimizer where nobody looks for it."""

    def __init__(self, optimizer):
        self.inner = [optimizer]


def test_state_of_an_optimizer_under_another_name():
    """Whose state an expression is was seen where it ran; what was not seen is said as a possibility."""

    def program(state):
        net = nn.Linear(4, 2)
        made = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
        opts = Options()
        opts.state["momentum_buffer"] = torch.ones(2)
        restored(made, net.parameters(), state)
        trained(made, net(X).sum())

    def unseen(state):
        net = nn.Linear(4, 2)
        kept = Held(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False))
        for p in net.parameters():
            torch.zeros(1)
            kept.inner[0].state[p]["momentum_buffer"] = state(p)
        trained(kept.inner[0], net(X).sum())

    def halved(p):
        return torch.zeros_like(p, dtype=torch.float16)

    def roles(state):
        (finding,) = inspected(state).findings
        assert finding.rule == "AG402"
        return {place.source: place.role for place in finding.locations}

    seen = roles(lambda: program(halved))
    assert seen['solver.state[p]["momentum_buffer"] = state(p)'] == "state is assigned here"
    assert not any("opts.state" in source for source in seen)
    possible = roles(lambda: unseen(halved))
    assert possible['kept.inner[0].state[p]["momentum_buffer"] = state(p)'] == "state may be assigned here"
    calm(lambda: program(torch.zeros_like), lambda: unseen(torch.zeros_like))


class Frozen(nn.Module):
    """Freezes its head by default."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self.head.requires_grad_(False)

    def forward(self, x):
        return self.head(self.body(x))


class Thawed(Frozen):
    """Thaws what its base class froze, whose constructor it calls by the class's name."""

    def __init__(self):
        Frozen.__init__(self)
        self.head.requires_grad_(True)


class Wrapped(nn.Module):
    """Thaws what another object froze when that was made."""

    def __init__(self):
        super().__init__()
        self.inner = Frozen()  # as super() of another class
        for p in self.parameters():
            p.requires_grad_(True)  # too much

    def forward(self, x):
        return self.inner(x)


def test_a_base_class_that_is_called_by_its_name():
    """A class thaws what its base class froze in the same object, however it called that; a comment calls nothing."""

    def program(kind):
        net = kind()
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        trained(optimizer, F.mse_loss(net(X), Y))

    calm(lambda: program(Thawed))
    diagnosed(lambda: program(Wrapped), "AG406", "# too much", "head.weight", severity="warning", where=Wrapped)


def test_a_group_added_under_another_name():
    """A group that an optimizer gets later is known by the optimizer, which is there already."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        grow = optimizer.add_param_group
        grow({"params": [net.weight]})

    def made():
        net = nn.Linear(4, 2)
        # not add_param_group
        torch.optim.SGD([{"params": net.parameters()}, {"params": [net.weight]}], lr=0.1)  # add_param_group

    later = diagnosed(program, "AG407", "grow({", "weight", severity="error")
    assert "already has them" in later.fix
    assert "already has them" not in diagnosed(made, "AG407", "torch.optim.SGD([", "weight", severity="error").fix


def test_an_update_written_out():
    """What is advised instead of `h -= a - b` is the same number, with the parentheses that this takes."""

    def program():
        h = nn.Linear(4, 4)(X).exp()
        h -= X - 1  # h.data
        h.sum().backward()

    finding = diagnosed(program, "AG201", "h -= X - 1", "h", severity="error")
    assert quoted(finding.fix) == ["h = h - (X - 1)", "h -= X - 1"]
