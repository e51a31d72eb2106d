"""What happened to parameters and optimizers, in program order: steps, loads, conversions, replacements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from autograd_inspector.analysis.step_history.writes import AT_ZERO, writes_of
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterReplacement
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import LoadRefused, ModelLoaded, ParametersConverted, StateLoaded
from autograd_inspector.model.wording import counted, join_names

_SHOWN = 4


class Event(Struct, frozen=True, omit_defaults=True):
    """One thing that happened; the same thing at the same line again is one event with ``times`` more than 1.

    ``at`` is the op index of the first time, ``alarming``: something was left behind that a training loop needs.
    """

    at: int
    site: int
    api: str
    said: str
    alarming: bool = False
    times: int = 1


def history_of(capture: Capture) -> tuple[Event, ...]:
    """What happened, each with what it moved, replaced or left behind."""
    events = sorted([*_steps(capture), *_replacements(capture), *_changes(capture)], key=lambda event: event.at)
    folded: dict[tuple[int, str, str], Event] = {}
    for event in events:
        key = (event.site, event.api, event.said)
        earlier = folded.get(key)
        folded[key] = event if earlier is None else Event(earlier.at, *key, earlier.alarming, earlier.times + 1)
    return tuple(sorted(folded.values(), key=lambda event: event.at))


def _steps(capture: Capture) -> Iterator[Event]:
    for step in capture.steps:
        name = capture.placement.optimizers[step.optimizer].type
        wrote = writes_of(capture, step)
        clauses = [_wrote(len(wrote.written), len(wrote.unseen), len(step.parameters))]
        for why, tensors in wrote.still.items():
            names = _named(capture, tensors)
            clauses.append(f"{names} at lr 0, which changes nothing" if why == AT_ZERO else f"not {names}: {why}")
        if wrote.gradients:
            clauses.append(f"changed .grad of {_named(capture, wrote.gradients)} in place")
        alarming = any(why not in {"frozen", "no gradient"} for why in wrote.still)
        yield Event(
            step.start if step.start >= 0 else step.at, step.site, f"{name}.step()", "; ".join(clauses), alarming
        )


def _wrote(written: int, unseen: int, held: int) -> str:
    of = f"of {counted(held, 'parameter')}"
    if not unseen:
        return f"wrote {written:,} {of}"
    quietly = "no version counter moved (a fused step, or one through .data)"
    return f"stepped {unseen:,} {of}: {quietly}" if not written else f"wrote {written:,} {of}; of {unseen:,} {quietly}"


def _replacements(capture: Capture) -> Iterator[Event]:
    for replacement in capture.replacements:
        holders = [_holding(replacement, optimizer) for optimizer in _before(capture, replacement.at)]
        orphans = [text for text in holders if text]
        clauses = [
            *_replaced(capture, replacement),
            *orphans,
            *(_behind(capture, replacement, optimizer) for optimizer in _before(capture, replacement.at)),
        ]
        model = capture.models[replacement.model] if replacement.model < len(capture.models) else ""
        text = "; ".join(filter(None, clauses))
        yield Event(replacement.at, replacement.site, replacement.api or model, text, bool(orphans))


def _replaced(capture: Capture, replacement: ParameterReplacement) -> Iterator[str]:
    if replacement.replaced:
        tied = sum(len(capture.tensors[new].names) > 1 for _, _, new in replacement.replaced)
        yield f"replaced {_registered(capture, replacement.replaced)} with {'a parameter with another name (tied)' if tied else 'new parameters'}"
    if replacement.added:
        yield f"added {_registered(capture, replacement.added)}"
    if replacement.gone:
        yield f"removed {_registered(capture, replacement.gone)}"
    if replacement.altered:
        kept = f"kept {_registered(capture, replacement.altered)} as the same parameters"
        changes = list(dict.fromkeys(_difference(before, after) for _, _, before, after in replacement.altered))
        yield f"{kept}, now {changes[0]}" + (" (and others)" if len(changes) > 1 else "")


def _difference(before: str, after: str) -> str:
    """Of shape, dtype and device only what changed."""
    parts = [*zip(before.rsplit(" ", 2), after.rsplit(" ", 2), strict=False)]
    changed = [pair for pair in parts if pair[0] != pair[1]]
    return " instead of ".join(" ".join(pair[at] for pair in changed) for at in (1, 0))


def _before(capture: Capture, at: int) -> list[OptimizerRecord]:
    return [optimizer for optimizer in capture.placement.optimizers if optimizer.created_at <= at]


def _holding(replacement: ParameterReplacement, optimizer: OptimizerRecord) -> str:
    """Whether the optimizer still has what the model gave up."""
    held = set(optimizer.held)
    lost = {old for _, old, _ in replacement.replaced} | {old for _, old in replacement.gone}
    count = len(held & lost)
    return f"{optimizer.type} holds {count:,} of the old parameters" if count else ""


def _behind(capture: Capture, replacement: ParameterReplacement, optimizer: OptimizerRecord) -> str:
    """Whether state of converted parameters is as the parameters were before."""
    altered = {tensor for _, tensor, _, _ in replacement.altered}
    left = [
        entry.name
        for row in capture.placement.rows
        if row.optimizer == optimizer.id and row.tensor in altered
        for entry in row.state
        if entry.shape == row.shape and (entry.dtype, entry.device) != (row.dtype, row.device)
    ]
    return f"left {join_names(left, _SHOWN)} of {optimizer.type} behind" if left else ""


def _changes(capture: Capture) -> Iterator[Event]:
    """Loads and conversions that exchanged nothing, or nothing that was looked at before."""
    replaced_at = {(replacement.site, replacement.at) for replacement in capture.replacements}
    for event in capture.events:
        count = f"{len(event.tensors):,} parameters"
        match event:
            case StateLoaded():
                cast = _cast(event)
                yield Event(event.at, event.site, event.api, f"loaded state into {count}{cast}", bool(cast))
            case LoadRefused():
                yield Event(event.at, event.site, event.api, f"refused to load state into {count}")
            case ModelLoaded() if (event.site, event.at) not in replaced_at:
                effect = (
                    f"replaced {count}"
                    if event.assign
                    else f"copied values into {count}, which remain the same objects"
                )
                yield Event(event.at, event.site, event.api, effect)
            case ParametersConverted() if (event.site, event.at) not in replaced_at:
                yield Event(event.at, event.site, event.api, f"converted {count}")


def _cast(load: StateLoaded) -> str:
    casts = [*map(str, load.casts), *(["train_mode: True -> False"] if load.left_training else [])]
    return f"; cast {', '.join(casts)}" if casts else ""


def _named(capture: Capture, tensors: Iterable[int]) -> str:
    return join_names(map(capture.display_names.in_table, tensors), _SHOWN)


def _registered(capture: Capture, changed: Iterable[tuple[Any, ...]]) -> str:
    """The names under which a model had what changed in it, which come first of what is known of each."""
    return join_names((capture.display_names.registered(name) for name, *_ in changed), _SHOWN)
