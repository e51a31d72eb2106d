"""What a capture that comes from a file must keep to, so that everything can be made of it that is made of any other.

Records point into one another by index. Whether each index is one is asked here, once; nobody who reads a capture
afterwards asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.ranks import RankedPlacement
from autograd_inspector.model.steps_history import History

_NUMBERED = {
    "ops": "index",
    "tensors": "id",
    "calls": "id",
    "regions": "id",
    "backwards": "index",
    "nodes": "index",
    "placement.optimizers": "id",
}
"""Records whose own number is their place."""
_NONE = -1
_POINTING: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tensors": (
        (
            "ops.inputs",
            "ops.outputs",
            "ops.writes.tensor",
            "backwards.roots",
            "backwards.reached",
            "backwards.empty",
            "backwards.taken",
            "backwards.stale",
            "steps.parameters.tensor",
            "grad_reads.tensor",
            "grad_writes.tensor",
            "tensor_hooks.tensor",
            "requires_grad_changes.tensor",
            "events.tensors",
            "value_faults.outputs.tensor",
            "value_faults.inputs.tensor",
            "value_faults.weights.tensor",
            "gradient_faults.ranges.tensor",
            "leaf_values.tensor",
            "bad_tensors",
            "alive",
            "retained_graphs.tensor",
            "placement.rows.tensor",
            "placement.optimizers.parameters",
            "history.reached",
            "history.used",
            "history.changes.lost",
            "history.changes.gained",
        ),
        (
            "error_tensor",
            "nodes.variable",
            "nodes.saved.tensor",
            "steps.parameters.gradient",
            "grad_reads.gradient",
            "grad_writes.gradient",
            "placement.rows.state.tensor",
            "history.sets",
        ),
    ),
    "sites": (
        (),
        (
            "error_site",
            "ops.site",
            "calls.site",
            "regions.site",
            "regions.definition",
            "regions.condition",
            "backwards.site",
            "steps.site",
            "grad_reads.site",
            "grad_writes.site",
            "gradients_kept.site",
            "tensor_hooks.site",
            "requires_grad_changes.site",
            "events.site",
            "events.made",
            "events.waiting",
            "replacements.site",
            "alias_writes.site",
            "retained_graphs.site",
            "placement.optimizers.site",
            "history.changes.site",
        ),
    ),
    "ops": (
        ("alias_writes.op", "scalar_reentries.op", "scalar_reentries.export"),
        (
            "steps.op",
            "tensors.birth",
            "nodes.op",
            "value_faults.op",
            "value_faults.met_by",
        ),
    ),
    "placement.optimizers": (
        ("steps.optimizer",),
        # Of a step that was folded away the optimizer may be gone, too.
        ("events.optimizer", "placement.rows.optimizer", "history.stepping"),
    ),
    "calls": ((), ("ops.call", "events.within")),
    "regions": (("ops.region",), ()),
    "models": (("replacements.model",), ("calls.root",)),
    "backwards": (("gradient_faults.backward", "leaf_values.backward"), ("events.run", "tensor_hooks.run")),
    "nodes": (("backwards.graph.roots", "gradient_faults.node"), ()),
}
"""Table -> (the fields that point into it, those of them that may be -1: into nothing)."""
_MOST_STEPS = 10**12
_COLUMNS = ("ops", "nodes", "saved_bytes", "backwards", "parameters", "without", "still", "stepped", "graph")


def fault_in(capture: Capture) -> str:
    """The first thing wrong with a capture: the field, and why; "" for one that is sound."""
    return next((f"capture.{fault}" for fault in _faults(capture)), "")


def fault_in_placement(placement: Placement) -> str:
    """The same of a placement alone, as a rank sends it."""
    return next((f"placement.{fault}" for fault in _faults_of_rows(placement)), "")


def fault_in_ranks(placement: RankedPlacement) -> str:
    """The same of the placement of several ranks: each column is there in each row."""
    count = len(placement.ranks)
    if len(placement.totals) != count:
        return f"placement.totals: {len(placement.totals)} for {count} ranks"
    faulty_row = next((n for n, row in enumerate(placement.rows) if len(row.shares) != count), -1)
    return (
        f"placement.rows[{faulty_row}].shares: {len(placement.rows[faulty_row].shares)} for {count} ranks"
        if faulty_row >= 0
        else ""
    )


def _faults(capture: Capture) -> Iterator[str]:
    for path, number_field in _NUMBERED.items():
        numbers = _column(capture, f"{path}.{number_field}")
        if numbers != list(range(len(numbers))):
            yield next(
                f"{path}[{n}].{number_field}: {number} instead of {n}"
                for n, number in enumerate(numbers)
                if number != n
            )
    for table, (always, maybe) in _POINTING.items():
        size = len(attrgetter(table)(capture))
        for lowest, paths in ((0, always), (_NONE, maybe)):
            for path in paths:
                yield from _outside(capture, path, range(lowest, size), table)
    for name in ("calls", "backwards"):
        parent = "parent" if name == "calls" else "nested_in"
        for number, outer in enumerate(map(attrgetter(parent), getattr(capture, name))):
            if not _NONE <= outer < number:
                yield f"{name}[{number}].{parent}: {outer} is none of the {name} before it"
    if not _all_in([child for node in capture.nodes for child, _ in node.edges], range(len(capture.nodes))):
        yield f"nodes.edges: not all among the {len(capture.nodes)} nodes"
    yield from _faults_of_pairs(capture)
    yield from (f"placement.{fault}" for fault in _faults_of_rows(capture.placement))
    yield from (f"history.{fault}" for fault in _faults_of_history(capture.history))


def _faults_of_pairs(capture: Capture) -> Iterator[str]:
    """Fields that are tables themselves, and numbers inside of tuples of several things."""
    tensors, sites, models = (range(len(table)) for table in (capture.tensors, capture.sites, capture.models))
    columns: tuple[tuple[str, Iterable[int], range], ...] = (
        ("owners", capture.owners, tensors),
        ("owners", capture.owners.values(), models),
        ("function_sites", capture.function_sites.values(), range(_NONE, len(sites))),
        (
            "gradient_sites",
            [site for sites_of in capture.gradient_sites.values() for site in sites_of],
            range(_NONE, len(sites)),
        ),
        ("nonfinite", capture.nonfinite[:1], range(_NONE, len(sites))),
        ("replacements.replaced", [n for e in capture.replacements for _, *pair in e.replaced for n in pair], tensors),
        ("replacements.gone", [number for e in capture.replacements for _, number in e.gone], tensors),
        ("replacements.added", [number for e in capture.replacements for _, number in e.added], tensors),
        ("replacements.altered", [number for e in capture.replacements for _, number, *_ in e.altered], tensors),
    )
    yield from (
        f"{name}: not all of its numbers are one" for name, numbers, size in columns if not _all_in(numbers, size)
    )


def _faults_of_rows(placement: Placement) -> Iterator[str]:
    groups = {optimizer.id: len(optimizer.groups) for optimizer in placement.optimizers}
    for number, row in enumerate(placement.rows):
        if row.optimizer != _NONE and row.optimizer not in groups:
            yield f"rows[{number}].optimizer: {row.optimizer} is none of the {len(groups)} optimizers"
        elif not _NONE <= row.group < max(groups.get(row.optimizer, 0), 0):
            yield f"rows[{number}].group: {row.group} is none of its optimizer's groups"


def _faults_of_history(history: History) -> Iterator[str]:
    if not 0 <= history.steps <= _MOST_STEPS:
        yield f"steps: {history.steps} is not a number of steps"
        return
    for name in _COLUMNS:
        runs = getattr(history, name)
        if len(runs.values) != len(runs.times) or any(times < 1 for times in runs.times):
            yield f"{name}.times: not one, and at least 1, for each of its values"
        elif sum(runs.times) != len(history):
            yield f"{name}.times: {sum(runs.times)} entries for {len(history)} steps"
    for name, table in (("without", "sets"), ("still", "sets"), ("stepped", "stepping")):
        if not _all_in(getattr(history, name).values, range(_NONE, len(getattr(history, table)))):
            yield f"{name}.values: not all in {table}"


def _outside(capture: Capture, path: str, allowed: range, table: str) -> Iterator[str]:
    if not _all_in(_column(capture, path), allowed):
        where, number = next(_places(capture, path.split("."), "", lambda number: number not in allowed))
        yield f"{where}: {number} is none of the {allowed.stop} {table}"


def _all_in(numbers: Iterable[int], allowed: range) -> bool:
    numbers = tuple(numbers)
    return not numbers or (min(numbers) >= allowed.start and max(numbers) < allowed.stop)


def _column(root: Any, path: str) -> list[Any]:
    """Everything that a path through records, and through all members of tuples, leads to."""
    level = [root]
    for name in path.split("."):
        level = list(map(attrgetter(name), level))
        while level and isinstance(level[0], (Sequence, frozenset)):
            level = list(chain.from_iterable(level))
    return level


def _places(value: Any, path: list[str], where: str, is_faulty: Callable[[int], bool]) -> Iterator[tuple[str, int]]:
    """The same one by one, with the place of each: ``ops[3].inputs[0]``."""
    if isinstance(value, (Sequence, frozenset)):
        for number, member in enumerate(value):
            yield from _places(member, path, f"{where}[{number}]", is_faulty)
    elif path:
        yield from _places(getattr(value, path[0]), path[1:], f"{where}.{path[0]}".lstrip("."), is_faulty)
    elif is_faulty(value):
        yield where, value
