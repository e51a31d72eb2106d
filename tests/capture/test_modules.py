"""Modules: call paths, counts, and what parameters are called."""

import pytest
import torch
from torch import nn

from tests.capture.observe import observe


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        return self.inner(self.inner(x))


def names_of(capture):
    return {name for tensor in capture.tensors if tensor.kind == "parameter" for name in tensor.names}


def test_calls_have_paths_parents_and_counts():
    """A module called twice is counted; a call knows the call around it."""
    block = Block()
    capture = observe(lambda: block(torch.ones(1, 3)))
    assert [(call.path, call.nth) for call in capture.calls] == [
        ("", 1),
        ("inner", 1),
        ("inner.0", 1),
        ("inner.1", 1),
        ("inner", 2),
        ("inner.0", 2),
        ("inner.1", 2),
    ]
    assert [call.parent for call in capture.calls] == [-1, 0, 1, 1, 0, 4, 4]
    linear = [op for op in capture.ops if op.name == "linear"]
    assert [capture.calls[op.call].path for op in linear] == ["inner.0", "inner.0"]


def test_an_op_after_a_call_is_outside_it():
    """Also after a call that raised and was caught."""

    class Raising(nn.Module):
        def forward(self, x):
            raise ValueError

    model = nn.Sequential(Raising())

    def program():
        try:
            model(torch.ones(1))
        except ValueError:
            torch.ones(2).exp()

    capture = observe(program)
    assert [op.call for op in capture.ops if op.name == "exp"] == [-1]


def test_a_module_called_on_its_own_is_named_from_the_model_that_holds_it():
    """A submodule's full name is found through the model in the program's frames."""
    block = Block()

    def program():
        assert block is not None
        block.inner(torch.ones(1, 3)).sum().backward()

    assert names_of(observe(program)) == {"inner.0.weight", "inner.0.bias"}


def test_tied_weights_have_all_their_names():
    """One parameter under two names is one tensor with two names."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.embedding(x))

    model = Tied()
    capture = observe(lambda: model(torch.tensor([1])))
    tied = [tensor.names for tensor in capture.tensors if tensor.kind == "parameter"]
    assert tied == [("embedding.weight", "head.weight")]


def test_several_models_are_told_apart():
    """With two models every name starts with its model's."""

    def program():
        generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
        critic(generator(torch.ones(1, 2))).sum().backward()

    capture = observe(program)
    assert len(capture.models) == 2
    assert {name.split(".")[0] for name in names_of(capture)} == set(capture.models)


def test_a_module_made_inside_the_block():
    """Names of a model that the block itself builds are complete, biases included."""

    def program():
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        model(torch.ones(1, 3)).sum().backward()

    assert names_of(observe(program)) == {"0.weight", "0.bias", "1.weight", "1.bias"}


def test_data_parallel_without_devices_is_the_module_itself():
    """nn.DataParallel on a machine without accelerators calls its module in this thread."""
    model = nn.DataParallel(nn.Linear(3, 1))
    capture = observe(lambda: model(torch.ones(2, 3)).sum().backward())
    assert names_of(capture) == {"weight", "bias"}
    assert not capture.notes


def test_functional_call_keeps_the_names():
    """torch.func.functional_call swaps tensors in; what is called under a name keeps it."""
    model = nn.Linear(3, 1)
    mine = {"weight": torch.ones(1, 3, requires_grad=True), "bias": torch.zeros(1, requires_grad=True)}
    capture = observe(lambda: torch.func.functional_call(model, mine, (torch.ones(2, 3),)).sum().backward())
    assert len(capture.backwards[0].reached) == 2


def test_a_module_that_is_still_being_made():
    """A module that trains another one before its own ``super().__init__()`` has no parts yet; the rest is named."""

    class Late(nn.Module):
        def __init__(self):
            inner = nn.Linear(3, 1)
            optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
            inner(torch.ones(1, 3)).sum().backward()
            optimizer.step()
            super().__init__()
            self.inner = inner

    capture = observe(Late)
    assert not capture.stopped
    assert {name.rpartition(".")[2] for name in names_of(capture)} == {"weight", "bias"}


class Converting(nn.Module):
    """Overrides the method for conversions, as torch's recurrent layers do, and comes to it by a comprehension."""

    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(2, 2)

    def _apply(self, fn, recurse=True):
        (converted,) = [super(Converting, self)._apply(each, recurse) for each in (fn,)]
        return converted


@pytest.mark.parametrize(
    "make", [lambda: nn.Linear(2, 2), lambda: nn.LSTM(2, 2), Converting], ids=["linear", "lstm", "own"]
)
def test_a_conversion_is_told_once(make):
    """By the method that the program called, whatever the module and what is in it override."""
    model = make()
    capture = observe(lambda: model.double())  # noqa: PLW0108 - looked up in the block
    assert [event.api for event in capture.events] == [f"{type(model).__name__}.double()"]


def test_an_exchange_is_told_with_the_call_that_made_it():
    """Not with the last of those that exchanged something in another model."""
    first, second = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))

    def program():
        first(torch.ones(2))
        second(torch.ones(2))
        first[0] = nn.Linear(2, 3)
        second[0] = nn.Linear(2, 4)
        first(torch.ones(2))

    causes = {replacement.model: replacement.api for replacement in observe(program).replacements}
    assert causes == {0: "0 = Linear", 1: "0 = Linear"}


def test_a_model_that_changes_without_a_call_of_torch():
    """What is put into its tables is found at the end, and no call is blamed for it."""
    net = nn.Sequential(nn.Linear(2, 2))

    def program():
        net(torch.ones(2))
        net.append(nn.Linear(2, 2))
        net(torch.ones(2))
        net._modules["0"] = nn.Linear(2, 2)

    told = [
        (replacement.api, bool(replacement.added), bool(replacement.replaced))
        for replacement in observe(program).replacements
    ]
    assert told == [("1 = Linear", True, False), ("", False, True)]


def test_a_model_that_becomes_a_part_is_called_by_its_place_with_all_in_it():
    """A teacher that was called on its own, and that a distiller holds from then on."""
    teacher = nn.Sequential(nn.Linear(3, 3))

    def program():
        teacher(torch.ones(1, 3))
        distiller = nn.ModuleDict({"teacher": teacher, "student": nn.Linear(3, 3)})
        list(distiller.parameters())
        distiller["student"](torch.ones(1, 3))
        distiller["teacher"](torch.ones(1, 3))
        return distiller

    capture = observe(program)
    assert [call.path for call in capture.calls] == ["", "0", "student", "teacher", "teacher.0"]
    assert len({call.root for call in capture.calls[2:]}) == 1
