"""Changes that are taken back whatever happens in between, and who can still close a capture."""

import contextlib
import functools
import signal
import sys
import threading
from types import SimpleNamespace

import pytest
from torch.nn.modules import module as hooks

from autograd_inspector.capture.undisturbed.holding import by, during, in_block
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.uninterrupted import uninterrupted
from autograd_inspector.interrupts import is_interrupt
from tests.undisturbed.interrupting import Interrupted, Interrupts, instants_of


def original():
    return 1


def other():
    return 2


def test_all_is_taken_back_once_or_twice():
    """Attributes, code and hooks are as before; doing it again changes nothing."""
    owner = SimpleNamespace(value=1)
    code = original.__code__
    before = dict(hooks._global_forward_pre_hooks)
    installation = Installation()
    installation.replace(owner, "value", 2)
    installation.recode(original, other.__code__)
    installation.hook(hooks.register_module_forward_pre_hook, lambda *_: None)
    assert (owner.value, original()) == (2, 2)
    assert len(hooks._global_forward_pre_hooks) == len(before) + 1
    for _ in range(2):
        installation.take_back()
        assert (owner.value, original.__code__) == (1, code)
        assert hooks._global_forward_pre_hooks == before


def test_what_the_program_put_there_stays():
    """Only our own stand-in is replaced."""
    owner = SimpleNamespace(value=1)
    installation = Installation()
    installation.replace(owner, "value", 2)
    owner.value = 3
    installation.take_back()
    assert owner.value == 3


def test_one_way_back_that_fails_does_not_block_the_others():
    """Its failure is raised when all is undone."""
    owner = SimpleNamespace(value=1)
    installation = Installation()
    installation.replace(owner, "value", 2)
    installation.made(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        installation.take_back()
    assert owner.value == 1


class TimedOut(TimeoutError):
    """An interrupt that is an Exception."""


@pytest.mark.parametrize("kind", [Interrupted, TimedOut])
def test_an_interrupt_at_any_instant_of_it(kind, monkeypatch):
    """While a change is made or taken back: one that is interrupted can be taken back as any other."""
    monkeypatch.setattr("tests.undisturbed.interrupting.Interrupted", kind)
    owner = SimpleNamespace(value=1)
    before = dict(hooks._global_forward_pre_hooks)
    left = []

    def change():
        left[:] = [Installation()]
        left[0].replace(owner, "value", 2)
        left[0].hook(hooks.register_module_forward_pre_hook, original)
        left[0].take_back()

    for instant in instants_of(change):
        with contextlib.suppress(kind), Interrupts(instant):
            change()
        left[0].take_back()
        assert (owner.value, dict(hooks._global_forward_pre_hooks)) == (1, before), instant


def holders(enter):
    """Enter in the blocks of several ``with`` statements; tell where it is held."""
    told = []
    with enter() as one:
        told.append(one())
        try:
            with enter() as two, contextlib.nullcontext():
                told.append((one(), two()))
                raise ValueError
        except ValueError:
            told.append((one(), two()))
        for _ in range(2):
            with enter() as two:
                told.append((one(), two()))
        told.append((one(), two()))
    return [*told, one()]


class Entering:
    """What finds out, as it is entered, how long its block lasts."""

    def __enter__(self):
        return in_block(sys._getframe(1))

    def __exit__(self, *_):
        return None


def test_a_block_is_held_as_long_as_its_frame_is_in_it():
    """Whatever lies inside: other blocks, handlers, loops."""
    both = (True, True)
    assert holders(Entering) == [True, both, (True, False), both, both, (True, False), False]


def test_what_enters_no_with_statement_is_in_no_block():
    """Called by hand, even inside the block of another, or by an ExitStack."""
    assert Entering().__enter__() is None
    with contextlib.nullcontext():
        assert Entering().__enter__() is None
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(Entering()) is None


def test_a_generator_that_rests_in_a_block_holds_it():
    """As long as it has not left it."""

    def resting():
        with Entering() as held:
            yield held
        yield held

    generator = resting()
    held = next(generator)
    assert held()
    assert not next(generator)()


def test_objects_and_frames():
    """An object holds while it lives, a frame while it runs, in whatever thread."""
    owner = Installation()
    held = by(owner)
    assert held()
    del owner
    assert not held()
    told = []
    done = threading.Event()

    def runs():
        told.append(during(sys._getframe()))
        done.wait()

    thread = threading.Thread(target=runs)
    thread.start()
    while not told:
        pass
    assert told[0]()
    done.set()
    thread.join()
    assert not told[0]()


def test_a_step_is_done_before_an_interrupt_is_raised():
    """All of it, once, or nothing, where it strikes before the step can begin; it comes out as the same object."""
    counted = []

    def step():
        counted.append(sum(range(2000)))
        counted.append(sum(range(2000)))

    found = instants_of(lambda: uninterrupted(step))
    done = []
    for instant in found:
        counted.clear()
        raised = []
        with Interrupts(instant) as interrupts:
            try:
                uninterrupted(step)
            except Interrupted as error:
                raised.append(error)
        assert raised == interrupts.struck, instant
        assert len(counted) in {0, 2}, instant
        assert counted or raised, instant
        waiting = instant.code.co_qualname == "_Run.wait"
        assert counted or not waiting, instant
        done += [instant] if waiting and raised else []
    assert done  # Some struck while the step was waited for.


def test_a_step_that_fails():
    """Its own failure is raised where it was called."""
    with pytest.raises(ZeroDivisionError):
        uninterrupted(lambda: 1 / 0)


def test_exceptions_of_signal_handlers_are_told():
    """By the frame that was interrupted, which the handler was given; others are ordinary failures."""

    def handler(_number, frame):
        raise TimeoutError

    def interrupted(call):
        try:
            call(15, sys._getframe())
        except TimeoutError as error:
            return is_interrupt(error)

    assert interrupted(handler)
    with pytest.raises(ValueError, match="literal") as raised:
        int("x")
    assert not is_interrupt(raised.value)


def plain(number, frame):
    raise TimeoutError


def rebinding(number, frame):
    frame = str(frame)
    raise TimeoutError(frame)


def deleting(number, frame):
    del frame
    raise TimeoutError


def naming(number, frame):
    number = signal.Signals(number).name
    raise TimeoutError(number)


class Handling:
    def __call__(self, number, frame):
        del number, frame
        raise TimeoutError

    def method(self, *given):
        given = str(given)
        raise TimeoutError(given)


HANDLERS = {
    "plain": plain,
    "one that rebinds its frame": rebinding,
    "one that deletes it": deleting,
    "one that rebinds the number": naming,
    "an object": Handling(),
    "a method": Handling().method,
    "a partial of a partial": functools.partial(functools.partial(deleting)),
    "one that hands on": lambda number, frame: deleting(number, frame) or 1,
}


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_an_exception_of_a_registered_handler_is_told_whatever_that_does_with_its_arguments(handler):
    """The same function called by the program, or another one, is none."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError) as raised:
            signal.raise_signal(signal.SIGALRM)
        assert is_interrupt(raised.value)
        with pytest.raises(ZeroDivisionError) as other:
            divmod(1, 0)
        assert not is_interrupt(other.value)
    finally:
        signal.signal(signal.SIGALRM, before)
