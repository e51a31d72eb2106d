"""What a reader sees of the program beside a finding."""

from __future__ import annotations

from autograd_inspector.model.excerpt import excerpts_of
from autograd_inspector.model.location import CALLER, Location

TEXT = dict(enumerate(["def f(x):", "    a = g(x)", "    b = h(a)", "", "    a += 1", "    return b", "", "f(x)"], 1))


def at(line: int, role: str = "", *, filename: str = "train.py", expression: str = "") -> Location:
    """A location with what its line says."""
    source = TEXT.get(line, "").strip()
    return Location(filename, line, source=source, role=role, end_lineno=line, expression=expression)


def numbers(*locations: Location) -> list[int]:
    """The numbers of the lines that are shown of one file."""
    (excerpt,) = excerpts_of(locations, lambda _: TEXT)
    return [line.lineno for line in excerpt.lines]


def test_lines_stand_in_their_order_with_some_around_them():
    """Two lines around the culprit, one around the others, each line once."""
    assert numbers(at(5, "modified here"), at(2, "saved here")) == [1, 2, 3, 4, 5, 6]
    assert numbers(at(2, "saved here"), at(8, "needed here")) == [1, 2, 3, 8]


def test_a_caller_stands_alone():
    """Of a line that only led there, nobody needs the lines around it."""
    assert numbers(at(1, "made here"), at(6, CALLER)) == [1, 2, 3, 6]


def test_a_line_says_what_happened_there_and_one_of_them_is_the_culprit():
    """Several roles of one line stand beside each other; context has none."""
    locations = at(5, "modified here", expression="a += 1"), at(2, "saved here"), at(2, "needed here")
    (excerpt,) = excerpts_of(locations, lambda _: TEXT)
    assert {line.lineno: line.role for line in excerpt.lines if line.role} == {
        2: "saved here, needed here",
        5: "modified here",
    }
    assert [line.lineno for line in excerpt.lines if line.culprit] == [5]
    assert next(line for line in excerpt.lines if line.culprit).expression == "a += 1"


def test_common_indentation_is_left_out():
    """Lines of a method need not stand in the middle of the page."""
    (excerpt,) = excerpts_of([at(3, "here")], lambda _: {2: TEXT[2], 3: TEXT[3], 4: "        deep()"})
    assert [line.text for line in excerpt.lines] == ["a = g(x)", "b = h(a)", "    deep()"]


def test_several_files_have_an_excerpt_each_the_culprits_first():
    """The reader starts at the culprit."""
    locations = at(5, "modified here"), at(1, "saved here", filename="/there/model.py")
    assert [excerpt.title for excerpt in excerpts_of(locations, lambda _: TEXT)] == ["train.py", "model.py"]


def test_without_the_text_the_lines_are_shown_alone():
    """A file may be gone, or the report may come from another machine."""
    (excerpt,) = excerpts_of([at(5, "modified here"), at(2, "saved here")], lambda _: {})
    assert [(line.lineno, line.text) for line in excerpt.lines] == [(2, "a = g(x)"), (5, "a += 1")]


def test_an_excerpt_has_at_most_forty_lines_and_says_what_happened_first():
    """A finding of many lines does not become a listing of the program."""
    text = {number: f"line {number}" for number in range(1, 1000)}
    locations = [Location("a.py", number, role="here") for number in range(3, 900, 10)]
    (excerpt,) = excerpts_of(locations, lambda _: text)
    assert len(excerpt.lines) == 40
    assert all(line.role for line in excerpt.lines)


def test_what_json_cannot_carry_is_spelled_out():
    """A lone surrogate in a string of the program."""
    (excerpt,) = excerpts_of([Location("a.py", 1, source="x = '\udc80'", role="here")], lambda _: {})
    assert excerpt.lines[0].text == r"x = '\udc80'"
