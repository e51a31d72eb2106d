"""Values that leave torch (item, tolist, numpy, pickle) and come back as tensors that have no history."""

from __future__ import annotations

import math
import re
import weakref
from collections import deque
from collections.abc import Iterable
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.recording.number_origin import NumberOrigin, is_common, is_literal, variables_at
from autograd_inspector.capture.recording.raw_records import (
    FACT_BIRTH,
    OP_FIRST,
    OP_INPUTS,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
)
from autograd_inspector.capture.recording.records import Records
from autograd_inspector.capture.tensors.attributes import dtype_of, shape_of, version_of
from autograd_inspector.model.op import Trait

_NAN = re.compile(r"\bnan\b")
_ADDING = frozenset({"add", "add_", "radd", "sub", "sub_", "rsub"})
"""A loss is made of terms by these: more is looked for where a number is one."""
_KEPT = 4096
_SEARCHED = 1024
_RECENT = 64
_VIEWS = 64
"""NumPy's views name the array that has the memory; another class may name itself, or a new object each time."""
_DETACHED = 4


def rejoin(recording: Records, index: int, sources: tuple[int, ...]) -> None:
    """Say of the op at ``index`` that it made a tensor of the values of others, without their history."""
    while recording.scalar_reentries and recording.scalar_reentries[-1][0] == index:
        recording.scalar_reentries.pop()
    name, _, _, outputs, writes, site, call, region, traits, first, last, error = recording.ops[index]
    versions = (-1,) * len(sources)
    traits |= int(Trait.CUT)
    recording.ops[index] = (
        name,
        sources,
        versions,
        outputs,
        writes,
        site,
        call,
        region,
        traits,
        first,
        last,
        error,
    )


class Exports:
    """Recognises a value that comes back: a float by its bits, an array by its identity or its base."""

    def __init__(self) -> None:
        self.numbers: dict[float, tuple[int, int]] = {}
        """Number -> (tensor, index of the op that took it out)."""
        self.common: dict[int, tuple[float, int, int]] = {}
        """Python's id of a number that others equal by chance -> (that very object, tensor, index of the op)."""
        self._arrays: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.origin = NumberOrigin()
        self._pickled: dict[tuple[Any, Any], int] = {}
        """(shape, dtype) -> the tensor of that kind that was pickled last."""
        self._recent: deque[tuple[list[CodeType], int, int, bool]] = deque(maxlen=_RECENT)

    def left(self, recording: Records, name: str, tensor: Tensor, result: Any) -> int:
        """A tensor's value became a Python or NumPy value; returns the index of the op that says so."""
        entry = recording.registry.enter(tensor, -1, len(recording.ops))
        traits = int(Trait.EXPORT) | (int(Trait.CUT) if entry.requires_grad else 0)
        index = recording.append(name, (entry.tensor,), traits=traits, site=recording.stacks.here(3))
        traced = _traced(recording, entry.tensor)
        site, runs = recording.ops[index][OP_SITE], len(recording.backwards)
        if not isinstance(result, float):
            self._recent.append((_functions(recording, site), entry.tensor, runs, traced))
        else:
            if traced:
                self.origin.left(result, entry.tensor, index, site, runs)
            if not recording.nonfinite[1] and not math.isfinite(result) and (traced or math.isnan(result)):
                recording.nonfinite = (site, str(result))
            self._remember(result, entry.tensor, index)
        if isinstance(result, list):
            for number in _numbers(result):
                self._remember(number, entry.tensor, index)
        elif hasattr(result, "__array_interface__"):
            self._arrays[id(result)] = (weakref.ref(result), entry.tensor)
        return index

    @staticmethod
    def shown(recording: Records, text: str) -> None:
        """A tensor was printed. Inf is common in what one prints (masks), and tells nothing."""
        if not recording.nonfinite[1] and _NAN.search(text):
            recording.nonfinite = (recording.stacks.here(), "nan")

    def pickled(self, recording: Records, tensor: Tensor) -> None:
        """A tensor is being pickled: its values go, and its history stays."""
        number = recording.id_of(tensor)
        recording.append("__reduce_ex__", (number,), site=recording.stacks.here(), versions=(version_of(tensor),))
        if len(self._pickled) > _KEPT:
            self._pickled.clear()
        self._pickled[shape_of(tensor), dtype_of(tensor)] = number

    def unpickled(self, recording: Records, tensor: Tensor) -> None:
        """A tensor was rebuilt from a pickle: of what was pickled last among those of its kind, as far as is known."""
        entry = recording.registry.entry_of(tensor)
        index = -1 if entry is None else recording.registry.facts[entry.tensor][FACT_BIRTH]
        op = recording.ops.get(index)
        if entry is None or op is None or op[OP_NAME] != "empty":
            return
        recording.registry.refresh(entry.tensor, tensor)  # It was made empty, and then given its memory.
        source = self._pickled.get((shape_of(tensor), dtype_of(tensor)), -1)
        sources = () if source < 0 else (source,)
        cut = int(Trait.CUT) if sources and recording.registry.entries[source].requires_grad else 0
        recording.ops[index] = (
            "unpickle",
            sources,
            (-1,) * len(sources),
            *op[OP_OUTPUTS:OP_TRAITS],
            op[OP_TRAITS] | cut,
            *op[OP_FIRST:],
        )

    def _remember(self, number: float, tensor: int, index: int) -> None:
        if len(self.numbers) + len(self.common) > _KEPT:
            self.numbers.clear()
            self.common.clear()
        if is_common(number):
            self.common[id(number)] = (number, tensor, index)
        elif not math.isnan(number):
            self.numbers[number] = (tensor, index)

    def used(self, recording: Records, index: int, values: Iterable[Any], frame: FrameType | None) -> None:
        """Note of the op at ``index`` which of its plain numbers had been taken out of torch, or computed from such."""
        for value in values:
            if isinstance(value, float) and not is_literal(value, frame):
                common = self.common.get(id(value)) or self._negated(value, frame)
                export = common[1:] if common is not None else self.numbers.get(value) or self.numbers.get(-value)
                if export is not None:
                    recording.scalar_reentries.append((index, export[1]))
                elif recording.ops[index][OP_NAME] in _ADDING:
                    runs = len(recording.backwards)
                    recording.scalar_reentries += [
                        (index, taken[2]) for taken in self.origin.behind(value, frame, runs)
                    ]

    def _negated(self, number: float, frame: FrameType | None) -> tuple[float, int, int] | None:
        """The common number that a variable of the calling function holds, and whose opposite this one is."""
        if not any(number == -kept for kept, _, _ in islice(self.common.values(), _SEARCHED)):
            return None
        held = (self.common.get(id(value)) for value in variables_at(frame))
        return next((common for common in held if common is not None and common[0] == -number), None)

    def came_back(self, recording: Records, index: int, values: Any) -> None:
        """Join the op at ``index`` to the tensors whose exported values it was given."""
        if index >= len(recording.ops):
            return
        op = recording.ops[index]
        if op[OP_INPUTS]:
            return
        origins = self._sources(recording, values) or self._nearby(recording, op[OP_SITE], values)
        sources = tuple(dict.fromkeys(origins))
        if not sources:
            return
        rejoin(recording, index, sources)

    def tensors(self, runs: int) -> set[int]:
        """What may still come back: arrays that live, and what left since the last of so many backwards."""
        arrays = {tensor for array, tensor in self._arrays.values() if array() is not None}
        arrays.update(self._pickled.values())
        return arrays | self.origin.tensors(runs) | {tensor for _, tensor, run, _ in self._recent if run == runs}

    def fold(self, tensors: set[int], ops: set[int], cut: int) -> None:
        """Forget the numbers that older ops took out, but for those that were used since, and the arrays that died."""
        self.numbers = {n: (t, op) for n, (t, op) in self.numbers.items() if t in tensors and (op >= cut or op in ops)}
        self.common = {key: entry for key, entry in self.common.items() if entry[1] in tensors}
        self._arrays = {key: entry for key, entry in self._arrays.items() if entry[0]() is not None}
        self._pickled = {kind: tensor for kind, tensor in self._pickled.items() if tensor in tensors}
        recent = [entry for entry in self._recent if entry[1] in tensors]
        self._recent.clear()
        self._recent.extend(recent)

    def _nearby(self, recording: Records, site: int, values: Any) -> list[int]:
        """An array was computed with in between: those that left torch in the same function since the last backward."""
        if not any(_is_array(value) for value in _leaves(values)):
            return []
        function, runs = _functions(recording, site)[:1], len(recording.backwards)
        return [
            tensor
            for functions, tensor, run, traced in self._recent
            if function and function[0] in functions and run == runs and traced
        ]

    def _sources(self, recording: Records, values: Any) -> list[int]:
        sources: list[int] = []
        for number in _numbers(values):
            if is_literal(number, None):
                continue
            common = self.common.get(id(number))
            if common is not None:
                sources.append(common[1])
            elif number in self.numbers:
                sources.append(self.numbers[number][0])
            else:
                sources += [taken[1] for taken in self.origin.behind(number, None, len(recording.backwards))]
        for value in values:
            array = value
            for _ in range(_VIEWS):
                if array is None or not hasattr(array, "__array_interface__"):
                    break
                entry = self._arrays.get(id(array))
                if entry is not None and entry[0]() is array:
                    sources.append(entry[1])
                array = getattr(array, "base", None)
        return sources


def _traced(recording: Records, tensor: int) -> bool:
    """Whether a tensor, or what it was detached from on the way out (`x.detach().cpu()`), requires grad."""
    registry = recording.registry
    for _ in range(_DETACHED):
        if registry.entries[tensor].requires_grad:
            return True
        birth = registry.facts[tensor][FACT_BIRTH]
        made = recording.ops.get(birth)
        if made is None or not made[OP_INPUTS]:
            return False
        tensor = made[OP_INPUTS][0]
    return False


def _functions(recording: Records, site: int) -> list[CodeType]:
    """The user's functions that a site lies in, innermost first (a comprehension is a function of its own)."""
    return [code for code, _, library in recording.stacks.chains[site] if not library]


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array_interface__") and not isinstance(value, float)


def _numbers(values: Any) -> list[float]:
    return [value for value in _leaves(values) if isinstance(value, float)]


def _leaves(values: Any) -> list[Any]:
    """The first so many values inside nested lists and tuples, of each of these once: one may contain itself."""
    leaves: list[Any] = []
    met: set[int] = set()
    stack = [values]
    while stack and len(leaves) < _SEARCHED:
        value = stack.pop()
        if not isinstance(value, (list, tuple)):
            leaves.append(value)
        elif id(value) not in met:
            met.add(id(value))
            stack.extend(value[:_SEARCHED])
    return leaves
