"""An interrupt at any instant of an inspected block: the program gets it, torch is as before, the next block works."""

from __future__ import annotations

import contextlib
import random
import signal
import time
import warnings

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.capture.session import INTERRUPTED, STRUCK, current
from autograd_inspector.messages import text_of
from tests.capture.observe import observe
from tests.undisturbed.interrupting import Interrupted, Interrupts, instants_of, ours
from tests.undisturbed.test_restored import state_of_torch

pytestmark = pytest.mark.undisturbed

SINGLE, DOUBLE, CAUGHT, ALARMS = 120, 50, 120, 40
"""So many instants are tried, spread over all."""


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Program:
    """A small training step with most of what a capture follows."""

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self):
        self.optimizer.zero_grad()
        Doubled.apply(self.model(torch.ones(3, 4))).sum().backward()
        self.optimizer.step()
        with torch.no_grad():
            self.model[0].weight.mul_(1.0)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            torch.range(0, 2)  # Warns, from C++.

    def block(self):
        with autograd_inspector.inspect() as inspection:
            self.step()
        return inspection.report.capture


@pytest.fixture(scope="module")
def program():
    import torch._dynamo  # noqa: F401 - so that no block imports it half-way

    found = Program()
    found.block()  # What is made once (caches, compiled code) is there.
    return found


@pytest.fixture(scope="module")
def instants(program):
    return instants_of(program.block)


def spread(found, count):
    """So many of them, from the first to the last."""
    return found[:: max(len(found) // count, 1)]


def names(capture):
    return [op.name for op in capture.ops]


def test_the_instants_are_those_of_the_inspector(instants):
    """There are thousands, from the opening to the closing of the block, and where the program calls us."""
    files = {instant.code.co_filename.rpartition("/")[2] for instant in instants}
    assert len(instants) > 2000
    assert {"inspect.py", "session.py", "installing.py", "ops.py", "registry.py", "freeze.py"} <= files
    assert any(not ours(instant.code) for instant in instants)


def switched_back(interrupts):
    """torch's own ``no_grad()`` does not survive an interrupt that strikes it, or where it calls the recorder."""
    assert torch.is_grad_enabled() or any("grad_mode" in at or "__torch_function__" in at for at in interrupts.where)
    torch.set_grad_enabled(True)


def interrupted(run, *at, kind=Interrupted):
    """Run it with interrupts: what comes out is the last of them, that very object."""
    raised = []
    with Interrupts(*at) as interrupts:
        try:
            run()
        except kind as error:
            raised.append(error)
    # Python itself drops what is raised in the callback of a weak reference: that interrupt is nobody's.
    kept = [
        e for e, where in zip(interrupts.struck, interrupts.where, strict=True) if not where.startswith("weakref.py")
    ]
    assert raised == kept[-1:], at
    return interrupts


def strike(program, before, expected, *at):
    """Interrupt a block: whatever is left is gone with the next block, which works as ever."""
    switched_back(interrupted(program.block, *at))
    left = state_of_torch() != before
    capture = program.block()
    assert names(capture) == expected, at
    assert not left or capture.notes == (INTERRUPTED,), at
    assert state_of_torch() == before, at
    assert current() is None


def test_an_interrupt_at_any_instant(program, instants):
    """It passes as the object that it is; torch is as before, at the latest when the next block has begun."""
    before, expected = state_of_torch(), names(program.block())
    for instant in spread(instants, SINGLE):
        strike(program, before, expected, instant)


@pytest.mark.filterwarnings("ignore:Exception ignored in.*WeakValueDictionary:pytest.PytestUnraisableExceptionWarning")
def test_a_second_interrupt_while_the_first_is_cleaned_up_after(program, instants):
    """Then, too."""
    before, expected = state_of_torch(), names(program.block())
    files = ("installing.py", "session.py", "last_look.py", "failing.py")
    closing = [i for i in instants if i.code.co_filename.endswith(files)]
    for first, second in zip(spread(instants, DOUBLE), spread(closing, DOUBLE), strict=False):
        strike(program, before, expected, first, second)


def test_an_interrupt_that_is_an_exception_is_no_failure_of_ours(program, instants, monkeypatch):
    """An alarm's TimeoutError passes as well, wherever it strikes: it must not be taken for the inspector's own."""

    class TimedOut(TimeoutError):
        pass

    monkeypatch.setattr("tests.undisturbed.interrupting.Interrupted", TimedOut)
    before = state_of_torch()
    for instant in spread(instants, CAUGHT // 2):
        switched_back(interrupted(program.block, instant, kind=TimedOut))
        program.block()
        assert state_of_torch() == before, instant


def last_step(capture, ops):
    """What is told of the last step: its ops with their places among modules and regions, its backward, its step."""
    told = [
        (
            op.name,
            int(op.traits),
            capture.regions[op.region].kind,
            capture.calls[op.call].path if op.call >= 0 else "",
            len(op.inputs),
        )
        for op in capture.ops[-ops:]
    ]
    backward = [(run.error, run.nested_in, run.end > run.start) for run in capture.backwards[-1:]]
    step = [(step.error, len(step.parameters)) for step in capture.steps[-1:]]
    return told, backward, step


def test_an_interrupt_that_the_block_catches(program):
    """The block goes on, and so does the recording: what comes after is told as if nothing had been."""

    def caught(first, *at):
        with autograd_inspector.inspect() as inspection:
            try:
                with Interrupts(*at) as interrupts:
                    first()
            except Interrupted:
                torch.set_grad_enabled(True)
            program.step()
        struck.extend(interrupts.struck)
        return inspection.report

    found, struck = [], []
    plain = caught(lambda: found.extend(instants_of(program.step))).capture
    ops = len(plain.ops) // 2
    before, expected = state_of_torch(), last_step(plain, ops)
    assert all(expected)
    for instant in spread(found, CAUGHT):
        report = caught(program.step, instant)
        capture = report.capture
        assert not capture.stopped, instant
        assert set(capture.notes) <= {STRUCK}, instant
        assert last_step(capture, ops) == expected, instant
        assert [finding for finding in report.findings if finding.severity != "info"] == [], instant
        assert report.to_text()
        assert autograd_inspector.Report.from_json(report.to_json()).capture == capture
        assert state_of_torch() == before, instant
    assert len(struck) > 0.8 * CAUGHT  # What is read once and kept is read by the first block alone.


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_alarms(program):
    """A real timer, at random: as with any other interrupt.

    Where one strikes in a destructor, or in what the garbage collector calls (Hypothesis times it), Python prints the
    exception and goes on: that block is not interrupted, and must end as ever.
    """
    draw = random.Random(0)
    expected = names(program.block())
    struck = tried = 0
    before, stream, handler = state_of_torch(), torch.get_rng_state(), None

    def raises(_number, _frame):
        nonlocal struck
        struck += 1
        raise Interrupted

    def later():
        """So soon that most strike in the block, on whatever machine: as long as one takes at the moment."""
        began = time.perf_counter()
        program.block()
        return draw.uniform(0.0002, time.perf_counter() - began)

    handler = signal.signal(signal.SIGALRM, raises)
    try:
        while struck < ALARMS:
            tried += 1
            assert tried < 20 * ALARMS
            try:
                signal.setitimer(signal.ITIMER_REAL, later())
                program.block()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                torch.set_grad_enabled(True)
            assert names(program.block()) == expected
            assert state_of_torch() == before
            assert torch.equal(torch.get_rng_state(), stream)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def test_where_torch_takes_modes_off_and_puts_them_back(program):
    """At once, and when the traceback is gone: torch's own code may be interrupted with the recorder in its hands."""
    before, expected = state_of_torch(), names(program.block())
    inside = instants_of(program.block, lambda code: code.co_filename == contextlib.__file__)
    assert inside
    for instant in inside:
        interrupts = interrupted(program.block, instant)
        switched_back(interrupts)
        assert interrupts.struck, instant
        assert state_of_torch() == before, instant  # The exception, and with it its traceback, is still there.
        del interrupts
        assert state_of_torch() == before, instant
        assert names(program.block()) == expected, instant


def test_a_block_whose_end_was_never_reached(program):
    """CPython can be interrupted between the block and ``__exit__``: the next block says what became of that one."""

    class Left(autograd_inspector.inspect):
        def __exit__(self, *_):
            """As if an interrupt had struck before its first instruction."""
            raise Interrupted

    with pytest.raises(Interrupted), Left() as left:
        program.step()
    assert program.block().notes == (INTERRUPTED,)
    with pytest.raises(RuntimeError, match="was not reached"):
        _ = left.report
    assert program.block().notes == ()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError("no room"), SystemExit(3)], ids=repr)
def test_a_report_that_could_not_be_made(error, monkeypatch):
    """Whoever asks for it is told what was raised instead."""

    def failing(*_, **__):
        raise error

    monkeypatch.setattr("autograd_inspector.api.inspect.report_of", failing)
    inspection = autograd_inspector.inspect()
    with pytest.raises(type(error)), inspection:
        pass
    with pytest.raises(RuntimeError, match=f"no report: {text_of(error)} "):
        _ = inspection.report


def test_preflight(program):
    """The random streams, the gradients and the hooks of the model are as before, wherever the trial is interrupted."""

    def trial():
        def loss(model, batch):
            return nn.functional.dropout(model(batch), 0.5).sum()

        autograd_inspector.preflight(program.model, torch.ones(3, 4), loss, program.optimizer)

    trial()
    found = [i for i in instants_of(trial) if "/capture/preflight/" in i.code.co_filename or "installing" in str(i)]
    gradients = [parameter.grad for parameter in program.model.parameters()]
    before, stream = state_of_torch(), torch.get_rng_state()
    for instant in found:
        switched_back(interrupted(trial, instant))
        assert torch.equal(torch.get_rng_state(), stream), instant
        assert all(p.grad is g for p, g in zip(program.model.parameters(), gradients, strict=True)), instant
        assert names(observe(lambda: torch.ones(2) + 1)) == ["ones", "add"]
        assert state_of_torch() == before, instant
