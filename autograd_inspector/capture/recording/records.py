"""What was observed so far, in the order of the program: what observers append to, and what derives from it reads."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.lines.local_names import names_of
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_LAST, OP_TRAITS, THREAD, RawOp
from autograd_inspector.capture.recording.registry import Registry
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.model.autograd import Backward, SavedTensor
from autograd_inspector.model.event import (
    GradRead,
    GradWrite,
    NoneGradient,
    ParameterReplacement,
    RequiresGradChanged,
    Step,
    TensorHook,
)
from autograd_inspector.model.op import ModuleCall, Region, Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import Event

Bounds = tuple[list[int], list[int], list[int]]
"""(first, last, op) of the ops that made nodes, in the order of their sequence numbers."""
_FUNCTION, _INNER = int(Trait.FUNCTION), int(Trait.INNER)


@dataclass
class Records:
    """Appended to as the program runs; frozen into a Capture at the end."""

    registry: Registry
    stacks: Stacks
    ops: Window[RawOp] = field(default_factory=Window)
    calls: Window[ModuleCall] = field(default_factory=Window)
    regions: Window[Region] = field(default_factory=Window)
    backwards: Window[Backward] = field(default_factory=Window)
    running: list[int] = field(default_factory=list)
    """Those of the backwards that have not returned, the innermost last."""
    unwalked: list[int] = field(default_factory=list)
    """Those of the backwards whose graph nobody has walked: the records of ops tell of it, where anybody asks."""
    checkpointed: list[tuple[int, SavedTensor]] = field(default_factory=list)
    """(the next op, a tensor that activation checkpointing keeps until backward)."""
    steps: list[Step] = field(default_factory=list)
    grad_reads: list[GradRead] = field(default_factory=list)
    grad_writes: list[GradWrite] = field(default_factory=list)
    tensor_hooks: list[TensorHook] = field(default_factory=list)
    hooked: set[int] = field(default_factory=set)
    """The tensors that those are on."""
    hook_codes: dict[CodeType, str] = field(default_factory=dict)
    """The program's own functions that are hooks on tensors -> their names."""
    requires_grad_changes: list[RequiresGradChanged] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    optimizers: dict[int, OptimizerRecord] = field(default_factory=dict)
    rows: dict[int, list[Any]] = field(default_factory=dict)
    left_out: dict[int, str] = field(default_factory=dict)
    """Optimizer -> what of its state could not be looked into, as a note."""
    notes: list[str] = field(default_factory=list)
    searched: Counter[tuple[CodeType, int] | None] = field(default_factory=Counter)
    """Line -> how often the program's variables were searched for what holds a graph, as it failed there."""
    functions: dict[str, CodeType | None] = field(default_factory=dict)
    """Custom autograd.Function -> the code of its backward."""
    steppers: dict[tuple[str, str], tuple[CodeType, ...]] = field(default_factory=dict)
    """(module, name) of an optimizer's class -> the methods that the user wrote of it."""
    alive: tuple[int, ...] = ()
    """Tensors with a graph that a program which raised still held at the end."""
    scalar_reentries: list[tuple[int, int]] = field(default_factory=list)
    """(op, op that had taken a number out of torch which this one was given)."""
    number_arguments: dict[int, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    """Op that wrote something -> the plain numbers among its arguments."""
    scales: dict[int, float] = field(default_factory=dict)
    """Op that multiplied or divided by a plain number -> that."""
    counted_ranks: dict[int, None] = field(default_factory=dict)
    """The sites at which the program asked how many ranks there are."""
    none_gradients: dict[NoneGradient, None] = field(default_factory=dict)
    """Each once, the last that came last: a graph that is kept goes backward again and again."""
    replacements: list[ParameterReplacement] = field(default_factory=list)
    named: set[int] = field(default_factory=set)
    """Tensors that have a name in some module."""
    variables: dict[int, str] = field(default_factory=dict)
    """Leaf -> the variable that held it when an optimizer or a backward met it, "" when none did."""
    traits: int = 0
    """Traits that every op gets now: BACKWARD inside the engine, INNER inside a custom Function's forward."""
    call: int = -1
    """The innermost module call."""
    region: int = 0
    rank: tuple[int, int] = (-1, 0)
    """Of this process in the default process group at the last step, and how many ranks it had."""
    error_site: int = -1
    """Where the exception that ended the capture was raised."""
    error_tensor: int = -1
    """The tensor that it is about."""
    nonfinite: tuple[int, str] = (-1, "")
    """(site, number) of the first NaN or Inf that the program took out of torch itself."""
    closed: bool = False
    """Nothing is recorded any more: the capture ended, its own failure ended it, or this is a forked child."""
    out_of_stack: bool = False
    """An observer met the end of Python's stack, and let go of what it was about to record."""
    struck: bool = False
    """An interrupt struck an observer, which let go of what it was about to record."""
    thread: int = field(default_factory=threading.get_ident)
    """The program's own. Each of the engine's, which carries the recorder too, counts its nodes for itself."""
    _bounds: Bounds = field(default_factory=lambda: ([], [], []))
    _bounded: int = 0
    _elsewhere: dict[int, Bounds] = field(default_factory=dict)
    """Thread of the engine's, from 1 -> what ``_bounds`` is for the program's own."""
    _engine_threads: dict[int, int] = field(default_factory=dict)

    def id_of(self, tensor: Tensor) -> int:
        """The id of a tensor, met now if never before."""
        return self.registry.enter(tensor, -1, len(self.ops)).tensor

    def name_variables(self, leaves: Iterable[Tensor]) -> None:
        """Name leaves of no module by the variables of the running frames; each is looked for once."""
        number_by_id = {id(leaf): self.id_of(leaf) for leaf in leaves}
        sought = {live: number for live, number in number_by_id.items() if number not in self.variables}
        if sought:
            self.variables |= dict.fromkeys(sought.values(), "") | names_of(sought, self.stacks.stop)

    def note(self, text: str) -> None:
        """Say something about the capture itself, once."""
        if text not in self.notes:
            self.notes.append(text)

    def numbered(self, first: int, last: int) -> tuple[int, int]:
        """The sequence numbers before and after an op that has run in this thread."""
        if threading.get_ident() == self.thread:
            return first, last
        if last <= first:
            return -1, -1
        below = THREAD * self._engine_threads.setdefault(threading.get_ident(), len(self._engine_threads) + 1)
        return first - below, last - below

    def bounds_elsewhere(self) -> Collection[Bounds]:
        """What ``sequence_bounds`` gives, of each thread of the engine's: in the order of the calls there."""
        if self._engine_threads:
            self.sequence_bounds()
        return self._elsewhere.values()

    def bounds_here(self) -> Bounds:
        """What ``sequence_bounds`` gives, of the thread that asks."""
        program, here = self.sequence_bounds(), threading.get_ident()
        return program if here == self.thread else self._elsewhere.get(self._engine_threads.get(here, 0), ([], [], []))

    def sequence_bounds(self) -> Bounds:
        """(first, last, op index) of the ops that made autograd nodes, by sequence number, kept up to date."""
        firsts, lasts, indices = self._bounds
        end = len(self.ops)
        for index, op in self.ops.items(self._bounded):
            numbered = op[OP_LAST] > op[OP_FIRST] >= 0
            if numbered and lasts and op[OP_FIRST] < lasts[-1]:
                self._bound_around(index, op)
            elif numbered:
                firsts += (op[OP_FIRST],)  # By +=, so that the three stay equally long where an interrupt strikes.
                lasts += (op[OP_LAST],)
                indices += (index,)
            elif op[OP_LAST] > op[OP_FIRST]:
                self._bound_elsewhere(index, op)
            self._bounded = index + 1
        self._bounded = end
        return self._bounds

    def _bound_elsewhere(self, index: int, op: RawOp) -> None:
        thread = -(op[OP_FIRST] // THREAD)
        bounds = self._elsewhere.setdefault(thread, ([], [], []))
        if not bounds[1] or op[OP_FIRST] + thread * THREAD >= bounds[1][-1]:
            firsts, lasts, indices = bounds
            firsts += (op[OP_FIRST] + thread * THREAD,)  # By +=, as in ``sequence_bounds``.
            lasts += (op[OP_LAST] + thread * THREAD,)
            indices += (index,)

    def _bound_around(self, index: int, op: RawOp) -> None:
        """A custom Function has the numbers that the ops of its forward leave: that of its own node is the first.

        Of an op that overlaps others in another way nothing is known: another thread counts from another number.
        """
        firsts, lasts, indices = self._bounds
        at, end = bisect_left(firsts, op[OP_FIRST]), op[OP_FIRST]
        inside = zip(firsts[at:], lasts[at:], indices[at:], strict=True)
        if not op[OP_TRAITS] & _FUNCTION or lasts[-1] > op[OP_LAST] or (at and lasts[at - 1] > end):
            return
        around: list[tuple[int, int, int]] = []
        for first, last, inner in inside:
            if not self.ops[inner][OP_TRAITS] & _INNER:
                return
            around += [(end, first, index), (first, last, inner)]
            end = last
        around.append((end, op[OP_LAST], index))
        new = [[*column] for column in zip(*(bound for bound in around if bound[0] < bound[1]), strict=True)]
        firsts[at:], lasts[at:], indices[at:] = new  # At once: the three stay equally long where an interrupt strikes.

    def fold_bounds(self, cut: int, ops: Collection[int]) -> None:
        """Of the bounds before that op keep only those of some ops."""
        self.sequence_bounds()
        for bounds in (self._bounds, *self._elsewhere.values()):
            kept = [bound for bound in zip(*bounds, strict=True) if bound[2] >= cut or bound[2] in ops]
            for column, values in zip(bounds, zip(*kept, strict=True) if kept else ((), (), ()), strict=True):
                column[:] = values

    def append(  # noqa: PLR0913, PLR0917 - the fields of an op
        self,
        name: str,
        inputs: tuple[int, ...] = (),
        outputs: tuple[int, ...] = (),
        writes: tuple[Any, ...] = (),
        traits: int = 0,
        site: int | None = None,
        error: str = "",
        versions: tuple[int, ...] = (),
        sequence: tuple[int, int] = (-1, -1),
    ) -> int:
        """An op that did not come through the torch-function mode; returns its index."""
        where = self.stacks.here(1) if site is None else site
        self.ops.append(
            (
                name,
                inputs,
                versions,
                outputs,
                writes,
                where,
                self.call,
                self.region,
                traits | self.traits,
                *self.numbered(*sequence),
                error,
            )
        )
        return len(self.ops) - 1
