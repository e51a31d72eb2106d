"""What of a model's arguments is looked at, which may be anything."""

import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.recording.nested import entries_within
from tests.growth.counting import lines


def table(*shape):
    """Nested lists of numbers, no two of them the same object."""
    return [table(*shape[1:]) for _ in range(shape[0])] if shape else 0


class Summing(nn.Linear):
    """Takes anything."""

    def forward(self, *given, **named):
        return self.weight.sum()


def test_a_tensor_beside_a_table_is_found():
    """In a list after a longer one, under a key, and three containers deep."""
    weights = [torch.ones(2, requires_grad=True) for _ in range(5)]
    far = weights[4]
    with autograd_inspector.inspect() as inspection:
        for weight in weights:
            weight.sum()
        Summing(2, 2)(table(5000), [weights[0]], [[[weights[1]]]], state={"h": weights[2]}, deep=[[[[far]]]])
    capture = inspection.report.capture
    known = [capture.ops[number].inputs[0] for number in range(5)]
    assert [capture.tensors[number].given for number in known] == [True, True, True, False, False]


def test_a_table_of_numbers_is_not_gone_through():
    """A model that is called with a million takes no more work than one that is called with two thousand."""
    model = Summing(2, 2)
    with autograd_inspector.inspect():
        model([0])
        calls = [lines(lambda values=values: model(values)).total() for values in (table(1000, 2), table(1000, 1000))]
    assert calls[1] < 1.5 * calls[0]


def test_the_shorter_containers_come_first():
    """Each of them once, so many entries in all, and none from further inside."""

    def within(*values):
        return [each for each in entries_within(values, 3, 1000) if type(each) is str]

    assert within("a", ["b", {"key": "c"}], [[["d"]]], [[[["e"]]]]) == ["a", "d", "b", "c"]
    assert within(table(5000), [[["far"]]], table(1000, 1000)) == ["far"]
    assert len(list(entries_within([table(1000, 1000)], 3, 1000))) == 1000
    circle = []
    circle += [circle, (circle, 1)]
    assert len(list(entries_within([circle], 3, 1000))) == 5
