"""What ``optimizer.step`` is given stays what it is, and what the program's own code does inside is recorded."""

import functools

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.program_events import ParameterRegistered
from tests.capture.observe import names, observe

X = torch.ones(2, 3)
FORWARD = ["linear", "pow", "sum"]


class Task:
    """A program with one layer, and its closure in every form that can be called."""

    def __init__(self):
        self.layer = nn.Linear(3, 1)
        self.calls = 0

    def loss(self, scale=1.0):
        self.calls += 1
        self.layer.zero_grad()
        loss = self.layer(X).pow(2).sum()
        loss.backward()
        return loss

    def __call__(self):
        return self.loss()

    @staticmethod
    def of(task):
        return task.loss()


def around(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def function(task):
    def closure():
        return task.loss()

    return closure


FORMS = {
    "function": function,
    "lambda": lambda task: lambda: [task.loss()][0],
    "bound method": lambda task: task.loss,
    "callable object": lambda task: task,
    "partial": lambda task: functools.partial(Task.of, task),
    "partial of a partial": lambda task: functools.partial(functools.partial(task.loss), scale=2.0),
    "decorated": lambda task: around(function(task)),
    "decorated by torch": lambda task: torch.enable_grad()(function(task)),
    "decorated bound method": lambda task: torch.enable_grad()(task.loss),
    "cached": lambda task: functools.lru_cache(task.loss),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def form(request):
    return request.param


OPTIMIZERS = {
    "SGD": lambda params: torch.optim.SGD(params, lr=0.01, momentum=0.9),
    "Adam": torch.optim.Adam,
    "LBFGS": lambda params: torch.optim.LBFGS(params, max_iter=2),
}


@pytest.mark.parametrize("kind", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_closure_of_any_form_is_recorded_and_handed_on(form, kind):
    """Its forward and backward are recorded, the step's own arithmetic is not, and nobody gets another object."""
    task = Task()
    closure, optimizer = form(task), kind(task.layer.parameters())
    seen = []
    optimizer.register_step_pre_hook(lambda _, args, kwargs: seen.append((args[1:], dict(kwargs))))
    optimizer.register_step_post_hook(lambda _, args, kwargs: seen.append((args[1:], dict(kwargs))))
    capture = observe(lambda: optimizer.step(closure))
    assert names(capture) == FORWARD * len(capture.backwards) + [f"{type(optimizer).__name__}.step"]
    assert len(capture.backwards) == task.calls > 0
    (step,) = capture.steps
    assert step.closure
    assert not step.error
    assert [(len(args), args[0] is closure, kwargs) for args, kwargs in seen] == [(1, True, {})] * 2


class Own(torch.optim.SGD):
    """A step that the user wrote: it notes what it is given, and clips between the closure and the update."""

    def __init__(self, params, **options):
        super().__init__(params, **options)
        self.given = []

    @torch.no_grad()
    def step(self, closure=None, *, task=None, objective=None, closures=()):
        self.given.append((closure, task, objective, closures))
        with torch.enable_grad():
            for call in (closure, task, objective, *closures):
                if call is not None:
                    call()
        for group in self.param_groups:
            for p in group["params"]:
                p.grad.mul_(0.5)
        return super().step()


@pytest.mark.parametrize("name", ["closure", "task", "objective"])
def test_a_closure_under_any_name(form, name):
    """It may be a keyword of the user's own."""
    task = Task()
    optimizer = Own(task.layer.parameters(), lr=0.1)
    closure = form(task)
    capture = observe(lambda: optimizer.step(**{name: closure}))
    assert names(capture) == [*FORWARD, "Own.step"]
    assert [value is closure for value in optimizer.given[0] if value is not None] == [True, False]


def test_several_closures():
    """A list of them is looked through, and stays the list that it is."""
    task, other = Task(), Task()
    optimizer = Own([*task.layer.parameters(), *other.layer.parameters()], lr=0.1)
    closures = [task.loss, other]
    capture = observe(lambda: optimizer.step(closures=closures))
    assert names(capture) == [*FORWARD * 2, "Own.step"]
    assert optimizer.given[0][3] is closures


def test_the_gradients_are_those_that_the_closure_left():
    """What the step does to them afterwards is the step's: it is told as a change of the gradient."""
    task = Task()
    (step,) = observe(lambda: Own(task.layer.parameters(), lr=0.1).step(task.loss)).steps
    assert [(p.gradient_before, p.gradient_after) for p in step.parameters] == [(0, 1), (0, 1)]
    assert all(p.gradient >= 0 for p in step.parameters)


def test_a_step_that_exchanges_the_gradients_after_its_closure():
    """It went on with the closure's, not with what it put in their place."""

    class Normed(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure):
            with torch.enable_grad():
                closure()
            self.after = []
            for p in self.param_groups[0]["params"]:
                self.after.append(p.grad)
                p.grad = p.grad.sign()
            return super().step()

    task = Task()
    kept = []

    def program():
        optimizer = Normed(task.layer.parameters(), lr=0.1)
        optimizer.step(task.loss)
        kept.extend(gradient.exp() for gradient in optimizer.after)

    capture = observe(program)
    (step,) = capture.steps
    assert [p.gradient for p in step.parameters] == [op.inputs[0] for op in capture.ops if op.name == "exp"]


class Sharp(torch.optim.Optimizer):
    """Sharpness-aware: it wraps another optimizer, and calls the closure twice, away from the weights in between."""

    def __init__(self, params, base):
        super().__init__(params, {})
        self.base = base(self.param_groups)

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        closure()
        parameters = [p for group in self.param_groups for p in group["params"]]
        away = [p.grad * 0.05 for p in parameters]
        torch._foreach_add_(parameters, away)
        closure()
        torch._foreach_sub_(parameters, away)
        self.base.step()


def test_an_optimizer_around_another_one():
    """It is one step, with all that the closure did, however often it was called."""
    task = Task()
    optimizer = Sharp(task.layer.parameters(), lambda groups: torch.optim.SGD(groups, lr=0.1))
    capture = observe(lambda: optimizer.step(task.loss))
    assert names(capture) == [*FORWARD * 2, "Sharp.step"]
    assert [step.closure for step in capture.steps] == [True]


def test_an_optimizer_that_hands_its_closure_on():
    """Both steps have it among their arguments."""

    class Ahead(torch.optim.Optimizer):
        def __init__(self, base):
            super().__init__(base.param_groups, {})
            self.base = base

        def step(self, closure=None):
            loss = self.base.step(closure)
            with torch.no_grad():
                self.param_groups[0]["params"][0].mul_(0.99)
            return loss

    task = Task()
    optimizer = Ahead(torch.optim.LBFGS(task.layer.parameters(), max_iter=2))
    capture = observe(lambda: optimizer.step(task.loss))
    assert names(capture) == FORWARD * len(capture.backwards) + ["Ahead.step"]
    assert len(capture.backwards) == task.calls


def test_a_model_as_the_argument():
    """``step(model)``: the step's own code gets the model itself, and the model's calls are recorded."""
    layer = nn.Sequential(nn.Linear(3, 1))

    class Towards(torch.optim.SGD):
        @torch.no_grad()
        def step(self, model):
            model[0].weight.mul_(0.99)
            model(X)
            return super().step()

    optimizer = Towards(layer.parameters(), lr=0.1)

    def program():
        layer(X).sum().backward()
        optimizer.step(layer)

    capture = observe(program)
    assert names(capture) == ["linear", "sum", "linear", "Towards.step"]
    assert [call.type for call in capture.calls] == ["Sequential", "Linear"] * 2


def test_what_cannot_be_called_is_no_closure():
    """Tensors, numbers, dictionaries and classes of the program's own go through as they are."""

    class Scaled(torch.optim.SGD):
        @torch.no_grad()
        def step(self, scale, options):
            assert options is given
            for p in self.param_groups[0]["params"]:
                p.mul_(scale)
            return super().step()

    task, given = Task(), {"a": 1, "kind": nn.Linear, "nested": [{}]}
    given["itself"] = given
    optimizer = Scaled(task.layer.parameters(), lr=0.1)
    scale = torch.tensor(0.5)
    capture = observe(lambda: optimizer.step(scale, options=given))
    assert names(capture) == ["Scaled.step"]
    assert not capture.steps[0].closure


def test_a_callable_that_computes_its_attributes():
    """No attribute of it is asked for."""

    class Shy(Task):
        def __getattribute__(self, name):
            if name in {"__code__", "__wrapped__", "__func__", "func", "__dict__"}:
                raise AssertionError(name)
            return super().__getattribute__(name)

    task = Shy()
    optimizer = torch.optim.SGD(task.layer.parameters(), lr=0.1)
    assert names(observe(lambda: optimizer.step(task))) == [*FORWARD, "SGD.step"]


def test_a_step_decorated_like_its_closure():
    """A wrapper that both have does not make the step's own arithmetic the program's."""

    class Decorated(torch.optim.SGD):
        @around
        @torch.no_grad()
        def step(self, closure):
            with torch.enable_grad():
                closure()
            self.param_groups[0]["params"][0].mul_(0.5)

    task = Task()
    optimizer = Decorated(task.layer.parameters(), lr=0.1)
    assert names(observe(lambda: optimizer.step(around(task.loss)))) == [*FORWARD, "Decorated.step"]


def test_a_closure_that_draws_from_a_generator():
    """A generator's frame hangs below whoever draws from it."""
    task = Task()

    def losses():
        while True:
            yield task.loss()

    drawn = losses()
    optimizer = torch.optim.SGD(task.layer.parameters(), lr=0.1)
    capture = observe(lambda: [optimizer.step(lambda: next(drawn)) for _ in range(2)])
    assert names(capture) == [*FORWARD, "SGD.step"] * 2


def test_a_step_inside_a_closure():
    """The inner step is a step of its own, and the outer one goes on behind it."""
    task, other = Task(), Task()
    outer = torch.optim.SGD(task.layer.parameters(), lr=0.1)
    inner = torch.optim.Adam(other.layer.parameters())

    def closure():
        inner.step(other.loss)
        return task.loss()

    capture = observe(lambda: (outer.step(closure), torch.ones(1).exp()))
    assert names(capture) == [*FORWARD, "Adam.step", *FORWARD, "SGD.step", "ones", "exp"]
    assert [(step.error, step.closure) for step in capture.steps] == [("", True), ("", True)]


def test_an_inner_step_that_raised_inside_a_closure():
    """The closure catches it: the inner step is told as raised, the outer one is whole."""
    task, other = Task(), Task()
    outer = torch.optim.SGD(task.layer.parameters(), lr=0.1)
    inner = torch.optim.Adam(other.layer.parameters())

    def fails():
        other.loss()
        raise ValueError

    def closure():
        with pytest.raises(ValueError):
            inner.step(fails)
        return task.loss()

    capture = observe(lambda: (outer.step(closure), torch.ones(1).exp()))
    assert names(capture) == [*FORWARD, "Adam.step", *FORWARD, "SGD.step", "ones", "exp"]
    assert [(bool(step.error), step.closure) for step in capture.steps] == [(True, True), (False, True)]


def test_an_inherited_step_that_raised():
    """The user's step catches what the inherited one raises and goes on: it is one whole step."""

    class Careful(torch.optim.SGD):
        def step(self, closure):
            with pytest.raises(ZeroDivisionError):
                super().step(lambda: 1 / 0)
            return super().step(closure)

    task = Task()
    optimizer = Careful(task.layer.parameters(), lr=0.1)
    capture = observe(lambda: (optimizer.step(task.loss), torch.ones(1).exp()))
    assert names(capture) == [*FORWARD, "Careful.step", "ones", "exp"]
    assert [(step.error, step.closure) for step in capture.steps] == [("", True)]


def test_a_closure_that_raised_out_of_the_block():
    """The step is told as raised, at the closure's line, with what the closure did before."""
    task = Task()
    optimizer = torch.optim.SGD(task.layer.parameters(), lr=0.1)

    def closure():
        task.loss()
        raise KeyError("here")

    with pytest.raises(KeyError), autograd_inspector.inspect() as inspection:
        optimizer.step(closure)
    capture = inspection.report.capture
    assert names(capture) == [*FORWARD, "SGD.step"]
    (step,) = capture.steps
    assert step.closure
    assert step.error == "KeyError: 'here'"
    assert capture.sites[capture.ops[-1].site].frames[0].function.endswith("closure")


def test_a_closure_that_the_program_calls_itself():
    """The same function outside any step, and once more after a step that raised, is the program's as always."""
    task = Task()
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.Adam([*task.layer.parameters(), weight])

    def program():
        task.loss()
        weight.grad = torch.ones(3)
        optimizer.step()
        optimizer.state[weight]["exp_avg"] = torch.ones(3, dtype=torch.float64)
        with pytest.raises(RuntimeError):
            optimizer.step(task.loss)
        task.loss()

    capture = observe(program)
    assert [name for name in names(capture) if name != "ones"] == [
        *FORWARD,
        "Adam.step",
        *FORWARD,
        "Adam.step",
        *FORWARD,
    ]
    assert [bool(step.error) for step in capture.steps] == [False, True]


def test_a_module_made_inside_a_closure():
    """Registering its parameters is noted there as anywhere else."""
    task = Task()
    optimizer = torch.optim.SGD(task.layer.parameters(), lr=0.1)

    def closure():
        nn.Linear(1, 1)
        return task.loss()

    capture = observe(lambda: optimizer.step(closure))
    assert [event.api for event in capture.events_of(ParameterRegistered)] == ["Linear.weight", "Linear.bias"]
