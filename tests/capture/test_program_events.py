"""What a program does to whole modules and optimizers is recorded as facts: one record a kind."""

import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.capture.lines.state_owners import StateOwners
from autograd_inspector.model.program_events import (
    AverageLeft,
    GradientsReturned,
    LoadRefused,
    ModelLoaded,
    ModeNotPassedOn,
    ModeSwitched,
    ModuleAttached,
    ModuleCleared,
    ModuleExchanged,
    ModuleHookRegistered,
    NamesUnmatched,
    OptimizerCreated,
    OptimizerModeMet,
    ParameterRegistered,
    ParametersConverted,
    ParametersRefused,
    ParameterWrapped,
    ProgramEvent,
    RequiresGradCompared,
    SchedulerMade,
    SchedulerStepped,
    StateAbsent,
    StateAssigned,
    StateCast,
    StateLoaded,
    StateRemoved,
    StateSaved,
    StateSwapped,
    UpdateDropped,
    ZeroGradCalled,
)

from .observe import observe


def seen(program, kind):
    """The only event of a kind that a program causes."""
    (event,) = observe(program).events_of(kind)
    return event


def stepped(net, kind=torch.optim.Adam, **settings):
    optimizer = kind(net.parameters(), **settings)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return optimizer


def test_modules_made_converted_and_loaded():
    """Registration, a part that is attached, a conversion by its method, a load that copies or assigns."""
    net = nn.Sequential(nn.Linear(2, 2))

    def program():
        net(torch.ones(1, 2))
        net.head = nn.Linear(2, 1, bias=False)
        net.double()
        net.load_state_dict(net.state_dict())
        net.load_state_dict(net.state_dict(), assign=True)

    capture = observe(program)
    registered = capture.events_of(ParameterRegistered)[0]
    assert (registered.type, registered.name, registered.api) == ("Linear", "weight", "Linear.weight")
    (attached,) = capture.events_of(ModuleAttached)
    assert (attached.type, attached.name, attached.tensors) == ("Sequential", "head", (registered.tensor,))
    assert attached.path.endswith("head")
    (converted,) = capture.events_of(ParametersConverted)
    assert (converted.type, converted.method, converted.api) == ("Sequential", "double", "Sequential.double()")
    assert registered.tensor in converted.tensors
    assert [load.assign for load in capture.events_of(ModelLoaded)] == [False, True]


def test_a_module_that_takes_the_place_of_another():
    """The class of the one that goes, the attribute, and the parameters of both; the same one again is no exchange."""
    net = nn.Sequential(nn.Linear(2, 2, bias=False))

    def program():
        net.add_module("head", nn.Linear(2, 1, bias=False))
        net[0] = net[0]
        net[0] = nn.Bilinear(2, 2, 2, bias=False)

    exchanged = seen(program, ModuleExchanged)
    assert (exchanged.type, exchanged.name, exchanged.api) == ("Linear", "0", "0")
    (gone,), (came,) = exchanged.pairs
    assert exchanged.tensors == (gone, came)
    assert gone != came


def test_leaves_compared_and_wrapped():
    """A comparison that was meant to set, and a Parameter that is made of a computed tensor."""
    weight = nn.Parameter(torch.ones(2))

    def program():
        weight.requires_grad == False  # noqa: B015, E712
        return nn.Parameter(weight * 2)

    capture = observe(program)
    (compared,) = capture.events_of(RequiresGradCompared)
    assert compared.wanted is False
    (wrapped,) = capture.events_of(ParameterWrapped)
    assert wrapped.tensors == (wrapped.tensor,)
    assert wrapped.tensor != compared.tensor


def test_a_backward_hook_of_a_module():
    """Of which class of module, and the hook's name."""

    def watching(module, given, passed):
        return None

    hook = seen(lambda: nn.Linear(2, 1).register_full_backward_hook(watching), ModuleHookRegistered)
    assert hook.type == "Linear"
    assert hook.hook.endswith("watching")
    assert hook.backward


def test_hooks_of_a_module_from_one_place():
    """How many a module has already; those that are removed each time are noted once."""
    net = nn.Linear(2, 1)

    def left():
        for _ in range(3):
            net.register_forward_hook(lambda *_: None)

    def removed():
        for _ in range(3):
            net.register_forward_pre_hook(hook=lambda *_: None).remove()

    assert [(e.method, e.again) for e in observe(left).events_of(ModuleHookRegistered)] == [
        ("register_forward_hook", again) for again in range(3)
    ]
    (event,) = observe(removed).events_of(ModuleHookRegistered)
    assert (event.api, event.again, event.backward) == ("Module.register_forward_pre_hook()", 0, False)


def test_optimizers_made_cleared_and_refused():
    """Which, of which class, with which parameters."""
    net = nn.Linear(2, 1)

    def program():
        torch.optim.SGD(net.parameters(), lr=0.1).zero_grad()
        with pytest.raises(ValueError, match="more than one parameter group"):
            torch.optim.Adam([{"params": [net.weight]}, {"params": [net.weight]}])

    capture = observe(program)
    created = capture.events_of(OptimizerCreated)[0]
    assert (created.type, len(created.tensors)) == ("SGD", 2)
    (cleared,) = capture.events_of(ZeroGradCalled)
    assert (cleared.optimizer, cleared.api) == (created.optimizer, "SGD.zero_grad()")
    (refused,) = capture.events_of(ParametersRefused)
    assert (refused.type, refused.tensors) == ("Adam", created.tensors[:1])


def test_zero_grad_of_a_module():
    """Of which module, with which parameters, also where none of them has a gradient."""
    net = nn.Sequential(nn.Linear(2, 1), nn.ReLU())
    (cleared,) = observe(net.zero_grad).events_of(ModuleCleared)
    assert (cleared.api, len(cleared.tensors)) == ("Sequential.zero_grad()", 2)


def test_a_load_that_casts_state():
    """Which entries, from which dtype to which."""
    saved = stepped(nn.Linear(2, 1)).state_dict()
    half = torch.optim.Adam(nn.Linear(2, 1).to(torch.bfloat16).parameters())
    load = seen(lambda: half.load_state_dict(saved), StateLoaded)
    assert load.casts == (
        StateCast("exp_avg", "float32", "bfloat16"),
        StateCast("exp_avg_sq", "float32", "bfloat16"),
    )
    assert not load.left_training


def test_a_load_that_is_refused():
    """Torch's own words, and the sizes of the groups on both sides as numbers."""
    saved = stepped(nn.Linear(2, 1)).state_dict()
    other = torch.optim.Adam([{"params": nn.Linear(2, 1).parameters()}, {"params": [nn.Parameter(torch.ones(1))]}])

    def program():
        with pytest.raises(ValueError, match="different number of parameter groups"):
            other.load_state_dict(saved)

    refused = seen(program, LoadRefused)
    assert "different number" in refused.error
    assert (refused.saved_groups, refused.own_groups) == ((2,), (2, 1))
    assert set(refused.saved_state) == {"step", "exp_avg", "exp_avg_sq"}


def test_state_that_went_to_another_parameter():
    """Pairs of who got it and whose it was."""
    one, other = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([one, other])

    def program():
        (one.sum() + other.sum()).backward()
        optimizer.step()
        torch.optim.Adam([other, one]).load_state_dict(optimizer.state_dict())

    capture = observe(program)
    (swapped,) = capture.events_of(StateSwapped)
    (created,) = capture.events_of(OptimizerCreated)
    new, old = created.tensors
    assert (swapped.pairs, swapped.by_name) == (((new, old), (old, new)), False)


def test_parameters_without_state_after_a_load():
    """Those for which the checkpoint had none."""
    net = nn.Linear(2, 1)
    saved = stepped(net).state_dict()
    del saved["state"][1]
    absent = seen(lambda: torch.optim.Adam(net.parameters()).load_state_dict(saved), StateAbsent)
    assert len(absent.tensors) == 1


def test_statements_about_state():
    """They are read off the source: the expression that has the state, and the keys."""
    net = nn.Linear(2, 1)
    optimizer = stepped(net)

    def program():
        optimizer.state[net.weight]["exp_avg"] = torch.zeros(1, 2)
        optimizer.state.pop(net.bias)
        optimizer.step()

    capture = observe(program)
    (assigned,) = capture.events_of(StateAssigned)
    assert (assigned.receiver, assigned.keys, assigned.optimizer) == ("optimizer", ("exp_avg",), -1)
    assert [removed.receiver for removed in capture.events_of(StateRemoved)] == ["optimizer"]


def test_whose_state_it_is_once_optimizers_are_numbered_anew():
    """An expression is the optimizer of the new number; one that was forgotten, or never met, has none."""
    solver, other = stepped(nn.Linear(2, 1)), stepped(nn.Linear(2, 1))
    owners = StateOwners()
    owners.met(solver, 7)

    def running():
        frame, options = sys._getframe(), SimpleNamespace(state={})
        solver.state, other.state, options.state
        return frame

    frame = running()
    owners.meet(frame)
    code = frame.f_code
    assert [owners.of(code, name) for name in ("solver", "other", "options", "unseen")] == [[7], [-1], [], None]
    owners.settle({7: 2})
    assert owners.of(code, "solver") == [2]
    owners.fold(())
    assert owners.of(code, "solver") == [-1]


def test_they_come_back_from_a_file():
    """In their order, each of its kind."""
    net = nn.Linear(2, 1)
    optimizer = stepped(net)

    def program():
        net.double()
        optimizer.zero_grad()
        optimizer.load_state_dict(optimizer.state_dict())

    with autograd_inspector.inspect() as inspection:
        program()
    report = inspection.report
    kinds = [type(event) for event in report.capture.events_of(ProgramEvent)]
    assert kinds == [ParametersConverted, ZeroGradCalled, StateSaved, StateLoaded]
    assert Report.from_json(report.to_json()).capture.events == report.capture.events


class Switched(torch.optim.SGD):
    """Has a mode in its groups, as schedule-free optimizers do."""

    def __init__(self, params):
        super().__init__(params, lr=0.1)
        for group in self.param_groups:
            group["train_mode"] = False

    def train(self):
        self.param_groups[0]["train_mode"] = True

    def eval(self):
        self.param_groups[0]["train_mode"] = False


def test_mode_of_an_optimizer():
    """It is met where a step begins, and where a model is called or saved; each change is told once."""
    net = nn.Linear(2, 1)

    def program():
        optimizer = Switched(net.parameters())
        net(torch.ones(1, 2)).sum().backward()
        optimizer.train()
        optimizer.step()
        optimizer.step()
        optimizer.eval()
        net.state_dict()
        optimizer.train()
        net(torch.ones(1, 2))
        stepped(net)

    met = observe(program).events_of(OptimizerModeMet)
    assert [event.training for event in met] == [True, False, True]
    assert {event.api for event in met} == {"Switched.train()", "Switched.eval()"}
    assert [event.at for event in met] == sorted(event.at for event in met)


def test_modes_that_the_program_switches():
    """Of which module, where, before its first call, too; not of what is inside, nor of one that is never called."""

    class Kept(nn.Sequential):
        def train(self, mode=True):
            super().train(mode)
            self[1].eval()
            return self

    net = nn.Sequential(Kept(nn.Linear(2, 2), nn.BatchNorm1d(2)), nn.Dropout(0.5))

    def program():
        net.eval()
        net(torch.ones(2, 2)).sum().backward()
        net.train()
        net[0].eval()
        net.train(mode=False)
        with torch.no_grad():
            net[1](torch.ones(2, 2))
        nn.Linear(2, 2).eval()
        with pytest.raises(ValueError, match="mode"):
            net.train("eval")

    switches = observe(program).events_of(ModeSwitched)
    assert observe(program).events_of(ModeNotPassedOn) == ()
    assert [(s.path, s.training, s.looks) for s in switches] == [
        ("", False, False),
        ("", True, False),
        ("0", False, False),
        ("0.1", False, False),
        ("", False, True),
    ]
    assert switches[1].api == "Sequential.train()"
    assert switches[2].api == "Kept.eval()"
    assert {s.model for s in switches} == {0}
    assert sorted(s.at for s in switches) == [s.at for s in switches]
    assert len({s.site for s in switches}) == len(switches)


def test_names_that_a_module_has_not():
    """Of a load that is not strict, and of a functional call: how many, which, and what is left as it was."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    weights = {f"module.{name}": value for name, value in net.state_dict().items()}
    values = {name.replace(".", "_"): torch.zeros_like(value) for name, value in weights.items()}

    def program():
        net.load_state_dict(weights, strict=False)
        net.load_state_dict({"0.weight": weights["module.0.weight"], "odd": torch.ones(1)}, strict=False)
        for _ in range(3):
            torch.func.functional_call(net, values, (torch.ones(1, 2),))

    whole, part, call = observe(program).events_of(NamesUnmatched)
    assert (whole.api, whole.given, whole.unmatched, whole.left) == ("Sequential.load_state_dict()", 4, 4, 4)
    assert whole.in_vain
    assert whole.names == tuple(weights)
    assert whole.own == tuple(net.state_dict())
    assert (part.in_vain, part.unmatched, part.names, part.left) == (False, 1, ("odd",), 3)
    assert (call.api, call.given, call.unmatched, call.left) == ("functional_call(Sequential)", 4, 4, 4)


def test_names_that_a_module_has():
    """All of them, some of them, those of buffers, of plain tensors, of what is parametrized; under vmap as well."""

    class Scaled(nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            self.scale = torch.ones(2)
            self.register_buffer("shift", torch.ones(2))

        def forward(self, x):
            return super().forward(x) * self.scale + self.shift

    net, x = Scaled(), torch.ones(1, 2)
    wrapped = nn.utils.parametrizations.weight_norm(Scaled())
    call = torch.func.functional_call

    def program():
        call(net, dict(net.named_parameters()), (x,))
        call(net, (dict(net.named_parameters()), dict(net.named_buffers())), (x,))
        call(net, {"weight": torch.ones(2, 2)}, (x,))
        call(net, {"scale": torch.ones(2)}, (x,))
        call(wrapped, {"weight": torch.ones(2, 2)}, (x,))
        call(net, {}, (x,))
        call(nn.ReLU(), {"weight": x}, (x,))
        net.load_state_dict({"weight": torch.ones(2, 2)}, strict=False)
        net.load_state_dict({**net.state_dict(), "head.weight": x}, strict=False)
        torch.func.vmap(lambda w: call(net, {"weight": w}, (x,)))(torch.ones(3, 2, 2))

    assert observe(program).events_of(NamesUnmatched) == ()


def test_names_given_in_vain_under_a_transform():
    """Neither vmap nor grad is in the way."""
    net = nn.Linear(2, 1)

    def program():
        torch.func.vmap(lambda w: torch.func.functional_call(net, {"w": w}, (torch.ones(2),)))(torch.ones(3, 2))
        torch.func.grad(lambda w: torch.func.functional_call(net, {"w": w}, (torch.ones(2),)).sum())(torch.ones(2))

    assert [event.names for event in observe(program).events_of(NamesUnmatched)] == [("w",), ("w",)]


def test_a_tensor_that_a_forward_takes_from_an_attribute():
    """It becomes an attribute for that call: read by the forward, it is not given in vain."""

    class Adapted(nn.Linear):
        def forward(self, x):
            delta = getattr(self, "delta", None)
            return super().forward(x) + (x @ delta if delta is not None else 0)

    net = Adapted(2, 2)
    delta = {"delta": torch.ones(2, 2)}
    capture = observe(lambda: torch.func.functional_call(net, delta, (torch.ones(1, 2),)))
    assert capture.events_of(NamesUnmatched) == ()


def test_schedulers_of_learning_rates():
    """Of which optimizer, the lines that return their factors; steps, but for the one of the constructor."""
    net = nn.Linear(2, 1)

    def factor(step):
        if step < 2:
            return 0.5
        return 1.0

    def program():
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        optimizer.step()
        for _ in range(2):
            scheduler.step()
        torch.optim.lr_scheduler.StepLR(optimizer, 3)

    capture = observe(program)
    scheduler, other = capture.events_of(SchedulerMade)
    assert (scheduler.optimizer, scheduler.api, other.api, other.factors) == (0, "LambdaLR", "StepLR", ())
    returned = [capture.place(site).source.strip() for site in scheduler.factors]
    assert returned == ["return 0.5", "return 1.0"]
    assert [event.api for event in capture.events_of(SchedulerStepped)] == ["LambdaLR.step()"] * 2


class Dropping(torch.optim.Optimizer):
    """Computes new values, and writes none, or does so where no version counter tells."""

    def __init__(self, params, *, writes=False):
        super().__init__(params, {"lr": 0.1})
        self.writes = writes

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            new = p - p.grad
            if self.writes:
                p.data.copy_(new)


@pytest.mark.parametrize("writes", [False, True])
def test_new_values_that_a_step_drops(writes):
    """Looked at from the second step on, of which parameters, and where they were computed."""
    net = nn.Linear(2, 1)

    def program():
        optimizer = Dropping(net.parameters(), writes=writes)
        for _ in range(5):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    capture = observe(program)
    dropped = capture.events_of(UpdateDropped)
    assert [event.at for event in dropped] == ([] if writes else [step.op for step in capture.steps[1:3]])
    assert all(event.tensors == capture.placement.optimizers[0].held for event in dropped)
    assert {capture.place(event.site).source.strip() for event in dropped} <= {"new = p - p.grad"}


class Averaging(torch.optim.Optimizer):
    """Computes a momentum; ``keeps`` says whether its state has it afterwards."""

    def __init__(self, params, *, keeps=False):
        super().__init__(params, {})
        self.keeps = keeps

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            old = state.setdefault("m", torch.zeros_like(p))
            new = old.mul(0.9).add(p.grad)
            p.sub_(new)
            if self.keeps:
                state["m"] = new


@pytest.mark.parametrize("keeps", [False, True])
def test_averages_that_a_step_drops(keeps):
    """Looked at once the first step has made the state: by which calls, of which parameters, and where."""
    net = nn.Linear(2, 1)

    def program():
        optimizer = Averaging(net.parameters(), keeps=keeps)
        for _ in range(5):
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    capture = observe(program)
    left = capture.events_of(AverageLeft)
    assert [event.at for event in left] == ([] if keeps else [step.op for step in capture.steps[1:3]])
    assert all(event.tensors == capture.placement.optimizers[0].held for event in left)
    assert {(e.entry, e.maker, e.scaled, e.added) for e in left} <= {("m", "zeros_like", "mul", "add")}
    assert {capture.place(event.site).source.strip() for event in left} <= {"new = old.mul(0.9).add(p.grad)"}


def test_later_kinds_come_back_from_a_file():
    """Modes, names, schedulers and dropped values."""
    net = nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5))

    with autograd_inspector.inspect() as inspection:
        optimizer = Dropping(net.parameters())
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0)
        for _ in range(2):
            net.train()
            net(torch.ones(1, 2)).sum().backward()
            net.eval()
            optimizer.step()
            scheduler.step()
        net.load_state_dict({"odd": torch.ones(1)}, strict=False)
    report = inspection.report
    kinds = {type(event) for event in report.capture.events}
    assert {ModeSwitched, NamesUnmatched, SchedulerMade, SchedulerStepped, UpdateDropped} <= kinds
    assert Report.from_json(report.to_json()).capture.events == report.capture.events


def test_mode_that_is_not_passed_on():
    """`eval()` of a model, or of a part, whose `train()` sets its own mode alone leaves the rest in train mode."""

    class Own(nn.Sequential):
        def train(self, on=True):
            self.training = on
            self[1].train(on)
            return self

    def program():
        net = nn.Sequential(Own(nn.Sequential(nn.Linear(2, 2)), nn.Dropout(0.5)), nn.Linear(2, 1))
        net(torch.ones(3, 2))
        net.eval()
        net.train()
        net[0].eval()

    events = observe(program).events_of(ModeNotPassedOn)
    assert [(e.type, e.model, e.path, e.missed, e.mode) for e in events] == [("Own", 0, "0", ("0", "0.0"), "on")] * 2
    assert events[0].api == "Own.train()"


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, _scale):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a, None


def test_gradients_that_a_function_returned():
    """Once a Function, where two of them have one shape: for which inputs, and the call that they belong to."""
    a, b = (torch.ones(3, requires_grad=True) for _ in range(2))

    def program():
        for _ in range(2):
            Product.apply(a, b, 2.0).sum().backward()

    capture = observe(program)
    (event,) = capture.events_of(GradientsReturned)
    assert (event.function, event.places, len(event.tensors), len(event.returned)) == ("Product", (0, 1), 1, 2)
    assert capture.ops[event.applied].name == "Product.apply"
    assert [op.name for op in capture.ops[event.at : event.until]] == ["mul", "mul"]
