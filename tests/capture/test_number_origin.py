"""What a plain number was computed from, by its value."""

import sys

from autograd_inspector.capture.recording import number_origin
from autograd_inspector.capture.recording.number_origin import NumberOrigin, is_common, is_literal


def test_a_constant_of_the_code_is_told_by_the_object():
    """An equal number that was computed is none."""
    frame = sys._getframe()
    assert is_literal(0.375, frame)
    assert not is_literal(float("0.375"), frame)


def test_a_number_of_a_tuple_of_constants_is_a_literal():
    """A loop over literals hands out the very objects of the code."""
    frame = sys._getframe()
    for number in (0.3751, 0.3752):
        assert is_literal(number, frame)
    for number in (float("0.3751"), float("0.3752")):
        assert not is_literal(number, frame)


def test_what_tells_nothing_of_what_left():
    """A product with zero is zero, and a large number stays itself when next to nothing is added."""
    origin, zero, large = NumberOrigin(), float("0"), float("2.5")
    origin.left(-1.7e-20, 1, 1, 1, 0)
    assert origin.behind(zero, frame_with_two(zero, large), 0) == []
    assert origin.behind(large, frame_with_two(zero, large), 0) == []


def frame_with_two(zero, large):
    """That of a function which has two numbers."""
    assert zero < large
    return sys._getframe()


def frame_with(scale):
    """That of a function which has one number."""
    assert scale
    return sys._getframe()


def test_sums_and_products_of_what_left():
    """One number, all those of a line, or all of them, with one more number of the function."""
    origin, frame = NumberOrigin(), frame_with(0.3)
    left = [0.7361312, 1.9137241, 5.2779168]
    for op, line in enumerate((1, 1, 2)):
        origin.left(left[op], op + 10, op, line, 0)

    def ops(number):
        return [taken[2] for taken in origin.behind(number, frame, 0)]

    assert ops(0.3 * left[1]) == [1]
    assert ops(left[0] + left[1]) == [0, 1]
    assert ops(sum(left) / 3) == [0, 1, 2]
    assert ops(0.123456) == []
    assert origin.behind(0.3 * left[1], frame, 1) == [], "a backward came in between"


def test_numbers_as_people_write_them_tell_nothing():
    """A learned temperature of 0.5 and a margin of 0.5 in a configuration are equal by chance."""
    written = [0.0, 1.0, -0.5, 0.07, 1e-08, 12.5, 100000.0, float("inf"), float("-inf")]
    assert all(map(is_common, written))
    assert not any(map(is_common, [0.10000000149011612, 2.718281828, 1 / 3, float("nan")]))
    origin = NumberOrigin()
    origin.left(0.5, 1, 1, 1, 0)
    assert origin.behind(float("0.5"), frame_with(2.0), 0) == []


def test_a_number_is_looked_up_in_vain_once(monkeypatch):
    """Until another one leaves."""
    origin, searched = NumberOrigin(), []
    results = number_origin._results
    monkeypatch.setattr(number_origin, "_results", lambda *given: searched.append(given) or results(*given))
    origin.left(2.7, 1, 1, 1, 0)
    for _ in range(3):
        origin.behind(0.1234567, sys._getframe(), 0)
    once = len(searched)
    origin.left(1.9, 2, 2, 1, 0)
    origin.behind(0.1234567, sys._getframe(), 0)
    assert 0 < once < len(searched)
