from __future__ import annotations

from rich.text import Text

from autograd_inspector.views.text.hanging import Hanging, Prose
from autograd_inspector.views.text.report import rendered

NAME = "classifier.t5.encoder.block.0.layer.0.SelfAttention.q.weight"


def lines(part, width):
    return rendered([part], width=width, color=False).splitlines()


def test_a_name_without_room_goes_on_before_a_dot():
    """What follows it stays with its end: no line is a comma."""
    assert lines(Prose(Text(f"not net.bias, {NAME}, {NAME} and 24 more")), len(NAME)) == [
        "not net.bias,",
        "classifier.t5.encoder.block.0.layer.0.SelfAttention.q",
        ".weight,",
        NAME,
        "and 24 more",
    ]


def test_a_name_with_room_stays_whole():
    """It moves to the next line as any word does, however little the line before it has."""
    assert lines(Prose(Text(f"not {NAME}")), len(NAME)) == ["not", NAME]


def test_lines_of_a_text_stay_lines():
    """A line break is one, and a continuation of a hanging text stands further right."""
    assert lines(Hanging(Text("one two three\nfour")), 9) == ["one two", "  three", "  four"]


def test_a_word_without_parts_is_broken_anywhere():
    """What has no place to be broken at fills its lines."""
    assert lines(Prose(Text("x" * 25)), 20) == ["x" * 20, "x" * 5]
