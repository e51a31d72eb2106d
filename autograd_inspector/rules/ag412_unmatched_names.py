"""AG412: tensors that a module is given under names that it has not."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ModelLoaded, NamesUnmatched
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.renaming import Renaming, renaming_of, wrapper_of
from autograd_inspector.model.wording import counted, join_names

_NAMED = 4


def check(analysis: Analysis) -> Iterator[Problem]:
    """Names match nothing: `load_state_dict(..., strict=False)` or `functional_call` ignores the given tensors.

    Why it matters
        The model keeps its previous values: a "pretrained" network stays random, and fast weights have no effect. With
        `strict=True` both functions raise and list the names that do not match.

    Example
        ::

            wrapped = nn.ModuleDict({"module": net})
            pretrained = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
            pretrained.load_state_dict(wrapped.state_dict(), strict=False)

    Fix
        ::

            wrapped = nn.ModuleDict({"module": net})
            pretrained = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
            weights = {name.removeprefix("module."): value for name, value in wrapped.state_dict().items()}
            pretrained.load_state_dict(weights)

    References
        torch.nn.Module.load_state_dict and torch.func.functional_call, parameter ``strict``.
    """
    unmatched = analysis.capture.events_of(NamesUnmatched)
    told: set[tuple[str, int, tuple[str, ...]]] = set()
    for event in unmatched:
        key = (event.api, event.site, event.names)
        if key not in told:
            told.add(key)
            yield _problem(analysis, event, unmatched)


def _problem(analysis: Analysis, event: NamesUnmatched, others: tuple[NamesUnmatched, ...]) -> Problem:
    severe = event.in_vain and not _loaded_otherwise(analysis, event, others)
    names, own = join_names(event.names, _NAMED), join_names(event.own, _NAMED)
    lacks = "has none of" if event.in_vain else f"lacks {event.unmatched:,} of"
    unused = "not loaded" if event.method == "load_state_dict" else "not used"
    return Problem(
        "warning" if severe else "info",
        f"{event.type} {lacks} the {counted(event.given, 'name')} passed to {event.method}() ({names}): their "
        f"tensors are {unused}, and {event.type} keeps its current {own}",
        _fix(event),
        analysis.user_frames(event.site, "passed here"),
        (event.type, *event.names[:_NAMED]),
        cures=tuple(_cures(analysis, event)),
    )


def _cures(analysis: Analysis, event: NamesUnmatched) -> Iterator[Remedies]:
    """The names as the module has them, where none of those that it is given is."""
    renaming = renaming_of(dict.fromkeys(event.names, ()), dict.fromkeys(event.own, ()))
    place = analysis.capture.place(event.site)
    if renaming and event.in_vain and event.method == "load_state_dict" and place is not None:
        yield (Operand(place, "argument", f"{{{_expression(renaming)}: value for name, value in {{}}.items()}}"),)


def _loaded_otherwise(analysis: Analysis, event: NamesUnmatched, others: tuple[NamesUnmatched, ...]) -> bool:
    """Whether another load gave the module something: this one was a trial, or one part of many."""
    in_vain = {(other.at, other.site) for other in others if other.in_vain}
    return event.method == "load_state_dict" and any(
        load.tensors == event.tensors and (load.at, load.site) not in in_vain
        for load in analysis.capture.events_of(ModelLoaded)
    )


def _fix(event: NamesUnmatched) -> str:
    renaming = renaming_of(dict.fromkeys(event.names, ()), dict.fromkeys(event.own, ()))
    call = "load_state_dict" if event.method == "load_state_dict" else "functional_call"
    strict = f"Pass strict=True to {call}: it then raises where names differ"
    source = "state_dict()" if call == "load_state_dict" else "named_parameters()"
    if not renaming:
        example = f" ({event.own[0]}, not {event.names[0]})" if event.own and event.names else ""
        return f"Use the names in {event.type}.{source} for the tensors{example}. {strict}."
    wrapper = wrapper_of(renaming.removed.rstrip("."))
    why = f" ({wrapper} adds it)" if wrapper and renaming.removed else ""
    name, own = _expression(renaming), ""
    if not event.in_vain:  # The others have the right names.
        name, own = f"name if name in own else {name}", f", where `own` is dict({event.type}.{source})"
    return f"{_change(renaming)}{why}: `{{{name}: value for name, value in given.items()}}`{own}. {strict}."


def _change(renaming: Renaming) -> str:
    removed = [prefix for prefix in (*renaming.wrappers, renaming.removed) if prefix]
    parts = [f'remove "{prefix}" from the names' for prefix in removed]
    parts += [f'prepend "{renaming.added}" to the names'] if renaming.added else []
    text = " and ".join(parts)
    return text[:1].upper() + text[1:]


def _expression(renaming: Renaming) -> str:
    name = "name"
    for wrapper in renaming.wrappers:
        name += f'.replace("{wrapper}", "")'
    name += f'.removeprefix("{renaming.removed}")' if renaming.removed else ""
    return f'"{renaming.added}" + {name}' if renaming.added else name
