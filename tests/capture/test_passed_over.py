"""``module.compile()`` of a module of torch's own alone: Dynamo compiles nothing of it, so all of it is seen."""

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

import autograd_inspector
from tests.capture.observe import names, observe


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    counters.clear()
    yield
    torch._dynamo.reset()


class Doubled(nn.Module):
    """A module of the program's."""

    def forward(self, x):
        return x * 2


def graphs():
    return counters["stats"].get("unique_graphs", 0)


def mlp(*more):
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1), *more)


def test_all_ops_are_there_and_a_note_says_why():
    """Dynamo makes no graph, with and without the inspector; the note names the call that would compile it."""
    model = mlp()
    model.compile(backend="eager")
    model(torch.ones(2, 3))
    assert graphs() == 0
    capture = observe(lambda: model(torch.ones(2, 3)).sum().backward())
    assert graphs() == 0
    assert names(capture) == ["ones", "linear", "relu", "linear", "sum"]
    (note,) = [note for note in capture.notes if "compile" in note]
    assert note.startswith("`Sequential.compile()` compiles nothing")
    assert "torch.compile(module)" in note


def hooked():
    model = mlp()
    model[0].register_forward_hook(lambda module, args, out: out * 2)
    return model


@pytest.mark.parametrize("made", [lambda: mlp(Doubled()), hooked], ids=["module", "hook"])
def test_what_is_the_programs_own_is_compiled_as_ever(made):
    """Where a module or a hook is, Dynamo compiles it: as often with the inspector as without."""
    counts = []
    for run in (lambda call: call(), observe):
        torch._dynamo.reset()
        counters.clear()
        model = made()
        model.compile(backend="eager")
        run(lambda model=model: model(torch.ones(2, 3)))
        counts.append(graphs())
    assert counts[0] == counts[1] > 0


def test_fullgraph_raises_what_it_does_without():
    """Torch says which functions it has passed over."""
    model = mlp()
    model.compile(backend="eager", fullgraph=True)
    for _ in range(2):  # The second time it has less to say.
        with pytest.raises(RuntimeError, match="found no compiled frames") as plain:
            model(torch.ones(2, 3))
    with autograd_inspector.inspect(), pytest.raises(RuntimeError, match="found no compiled frames") as seen:
        model(torch.ones(2, 3))
    assert str(seen.value) == str(plain.value)
