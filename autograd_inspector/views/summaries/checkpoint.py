"""What a checkpoint holds and where it would go, folded: the text and the page show the same tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.checkpoints.loading_lines import at, called, plan
from autograd_inspector.analysis.checkpoints.resume import Resume, resume_of
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.checkpoint import CheckpointTensor, SavedModel, SavedOptimizer
from autograd_inspector.model.wording import counted, join_names
from autograd_inspector.views.display_text import size

_NUMBER = re.compile(r"\d+")
_FEW = 24
_MANY_GROUPS = 12


class Part(Struct, frozen=True):
    """One state_dict: what it is, sentences about it, and its tensors folded into rows."""

    title: str
    lines: tuple[str, ...]
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Contents(Struct, frozen=True):
    """``title`` is the checkpoint in a line; ``plan`` the statements that load it, () when an error is before it."""

    title: str
    parts: tuple[Part, ...]
    plan: tuple[str, ...]


def contents_of(report: ReportData) -> Contents | None:
    """The section about the checkpoint; None for a report on something else."""
    resume = resume_of(report.capture)
    if resume is None:
        return None
    checkpoint = resume.checkpoint
    title_parts = [checkpoint.source or "a dict", checkpoint.format]
    if checkpoint.nbytes:
        title_parts.append(size(checkpoint.nbytes))
    if checkpoint.others:
        title_parts.append(f"beside it {join_names(checkpoint.others, 8)}")
    sound = all(finding.severity != "error" for finding in report.findings)
    lines = [called(line, report.capture.models) for line in plan(resume)]
    parts = [_model(resume, model) for model in checkpoint.models]
    parts += [_optimizer(resume, optimizer) for optimizer in checkpoint.optimizers]
    return Contents(" · ".join(title_parts), tuple(parts), tuple(lines) if sound else ())


def _model(resume: Resume, model: SavedModel) -> Part:
    fit = resume.fit if resume.fit is not None and resume.fit.saved is model else None
    title = f"{_key(model.path)}: {counted(len(model.tensors), 'tensor')}, {size(sum(t.nbytes for t in model.tensors))}"
    if fit is None:
        return Part(title, (), _HEADERS[:-1], _folded((t.name, *_cells(t)) for t in model.tensors))
    goes = {tensor.name: slot for tensor, slot in fit.matched}
    reshaped = {tensor.name for tensor, _ in fit.reshaped}
    rows = []
    for tensor in model.tensors:
        slot = goes.get(tensor.name)
        if slot is None:
            state = "unexpected" if fit.renaming.applies(tensor.name) else "left out"
        elif tensor.name in reshaped:
            state = f"model has {_shape(slot.shape)}"
        else:
            changed = [
                new for old, new in ((tensor.dtype, slot.dtype), (tensor.device, slot.device)) if new and old != new
            ]
            state = f"becomes {' '.join(changed)}" if changed else "fits"
        rows.append((tensor.name, *_cells(tensor), state))
    rows += [(slot.name, _shape(slot.shape), slot.dtype, slot.device, "missing") for slot in fit.missing]
    rows += [(slot.name, _shape(slot.shape), slot.dtype, slot.device, "missing, tied") for slot in fit.tied]
    line = f"{len(fit.matched) - len(reshaped)} of the model's {counted(len(resume.target.slots), 'name')} found"
    counts = [
        (len(fit.missing) + len(fit.tied), "missing"),
        (len(fit.unexpected), "unexpected"),
        (len(reshaped), "reshaped"),
    ]
    line += "".join(f", {number} {what}" for number, what in counts if number)
    return Part(title, (line,), _HEADERS, _folded(rows))


_HEADERS = ("name", "shape", "dtype", "device", "model")


def _optimizer(resume: Resume, optimizer: SavedOptimizer) -> Part:
    parameters = optimizer.parameters
    title = f"{_key(optimizer.path)}: state of {counted(len(parameters), 'parameter')}, {size(optimizer.nbytes)}"
    lines = [
        f"group {number}: {counted(len(group.parameters), 'parameter')}, "
        + ", ".join(f"{name} {value}" for name, value in group.settings.items() if value not in {"None", "False"})
        for number, group in enumerate(optimizer.groups[:_MANY_GROUPS])
    ]
    chosen = resume.saved is optimizer and resume.same_groups
    names = resume.names if chosen else ()
    rows = []
    for place, parameter in enumerate(parameters):
        large = [entry for entry in parameter.state if entry.shape != ()] or list(parameter.state)
        cells = _cells(large[0]) if large else ("", "", "")
        kinds = ", ".join(entry.name for entry in parameter.state) or "no state"
        row = (parameter.name or f"position {parameter.key}", *cells, kinds)
        rows.append((*row, *(names[place : place + 1] or ("",))) if names else row)
    headers = ("position", "shape", "dtype", "device", "state", "goes to") if names else _POSITION
    return Part(title, tuple(lines), headers, _folded(rows))


_POSITION = ("position", "shape", "dtype", "device", "state")


def _key(path: tuple[str | int, ...]) -> str:
    return at(path) if path else "the whole of it"


def _cells(tensor: CheckpointTensor) -> tuple[str, str, str]:
    return _shape(tensor.shape), tensor.dtype, tensor.device


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def _folded(all_rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Rows alike but for numbers in their names share one; of very many those of one module too."""
    rows = list(all_rows)
    grouped = list(_grouped(rows))
    if len(grouped) > _FEW:
        grouped = list(_grouped([(_module(row[0]), "", *row[2:]) for row in rows]))
    return tuple(grouped)


def _module(name: str) -> str:
    owner = name.rpartition(".")[0]
    return f"{owner}.*" if owner else name


def _grouped(rows: list[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in rows:
        groups.setdefault(
            tuple(_NUMBER.sub("#", cell) if i in {0, 5} else cell for i, cell in enumerate(row)), []
        ).append(row)
    for members in groups.values():
        spans = [_span([row[i] for row in members]) if i in {0, 5} else cell for i, cell in enumerate(members[0])]
        times = f"  ×{len(members)}" if len(members) > 1 else ""
        yield (spans[0] + times, *spans[1:])


def _span(names: list[str]) -> str:
    """``h.{0…11}.weight``: the numbers of the first and of the last name."""
    first, last = names[0], names[-1]
    numbers = iter(_NUMBER.findall(last))
    return _NUMBER.sub(
        lambda number_match: (
            number_match[0] if number_match[0] == (other := next(numbers)) else f"{{{number_match[0]}…{other}}}"
        ),
        first,
    )
