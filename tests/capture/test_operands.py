"""What the last operand of a running instruction is made of, and where a number went that a call returned."""

import os
import sys

from autograd_inspector.capture.lines.operands import Operand, returned, stored_as
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around


class Divided:
    """Tells the instruction that divides it."""

    def __truediv__(self, other):
        return Operand(*caller())

    __itruediv__ = mul_ = __truediv__


def caller():
    """(code, instruction) of the function that called the one that calls this."""
    frame = sys._getframe(2)
    return frame.f_code, frame.f_lasti


class Config:
    """Holds a number."""

    def count(self):
        self.asked = caller()
        return 2


def test_an_operand_is_a_constant_or_reads_variables():
    """Of operators, in place as well, and of methods."""
    x, config, shares = Divided(), Config(), 2
    config.shares = 2
    half, factor = x / 2, x.mul_(0.5)
    assert (half.written, factor.written) == (True, True)
    for operand in (x / shares, x / config.shares, x.mul_(1.0 / shares)):
        assert not operand.written
        assert "shares" in operand.names
        assert "x" not in operand.names
    y = x
    y /= shares
    assert y.names == {"shares"}


def test_an_operand_contains_the_call_that_computed_it():
    """A call elsewhere in the statement is no part of it."""
    x, config = Divided(), Config()
    operand = x / float(config.count())
    assert operand.contains(*config.asked)
    operand, shares = x / 2, config.count()
    assert not operand.contains(*config.asked)
    assert shares == 2


def test_a_result_is_stored_by_its_own_statement():
    """In variables and attributes, several at once; not by the statement behind it."""
    config = Config()
    rank, world = 0, config.count()
    assert stored_as(*config.asked) == {"rank", "world"}
    config.shares = int(config.count())
    assert stored_as(*config.asked) == {"shares"}
    print(config.count())
    later = rank + world
    assert (stored_as(*config.asked), later) == (frozenset(), 2)


def test_a_function_returns_what_it_got():
    """At once, or from a variable."""
    config = Config()

    def directly():
        return config.count()

    def by_name(ready):
        if not ready:
            return 1
        found = config.count()
        if found:
            return found
        return 1

    def other():
        found = config.count()
        return found + 1

    assert [directly(), by_name(ready=False)] == [2, 1]
    assert returned(*config.asked, frozenset())
    by_name(ready=True)
    assert returned(*config.asked, stored_as(*config.asked))
    other()
    assert not returned(*config.asked, stored_as(*config.asked))


def test_the_environment_is_read_without_a_frame_of_ours(monkeypatch):
    """The probe is compiled into the function of Python's, although that is frozen into the interpreter."""
    monkeypatch.setenv("WORLD_SIZE", "2")

    class Noting:
        def before(self, seen, *args):
            seen += args[1:]

        def after(self, seen, result):
            read.append((*seen, result))
            return result

        def failed(self, seen, error):
            pass

    read, into, kind = [], Installation(), type(os.environ)
    before = kind.__getitem__.__code__
    try:
        assert around(into, kind, "__getitem__", Noting()) == 0
        assert os.getenv("WORLD_SIZE") == os.environ["WORLD_SIZE"] == "2"
    finally:
        into.take_back()
    assert read == [("WORLD_SIZE", "2")] * 2
    assert kind.__getitem__.__code__ is before
