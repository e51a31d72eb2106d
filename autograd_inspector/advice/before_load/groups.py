"""AG409 before a load: groups of other sizes, positions without state, settings that would be replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.before_load.alignment import aligned, in_saved_order
from autograd_inspector.advice.before_load.devices import uncapturable
from autograd_inspector.advice.before_load.fixes import LOAD, fix, popped, saved
from autograd_inspector.advice.before_load.kind import unlike
from autograd_inspector.advice.before_load.position import shape_at
from autograd_inspector.advice.before_load.rebuild import assigned, rebuilt
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.checkpoint import SavedParameter
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.settings import SettingText, setting_text
from autograd_inspector.model.wording import agree, join_names, summarize_names


def group_problems(resume: Resume) -> Iterator[Problem]:
    """What load_state_dict of the optimizer refuses, leaves without state, or replaces."""
    if resume.optimizer is None or resume.saved is None or unlike(resume).foreign:
        return
    if not resume.same_groups:
        yield _sizes(resume)
    else:
        yield from _absent(resume)
        yield from _replaced(resume)


def _sizes(resume: Resume) -> Problem:
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    theirs = [len(group.parameters) for group in resume.saved.groups]
    new, gone = aligned(resume.rows, resume.saved.parameters, resume.names)
    names = [resume.names[i] for i in new]
    message = (
        f"optimizer.load_state_dict raises: the checkpoint's groups have {theirs} parameters, the optimizer's have "
        f"{resume.sizes}"
    )
    same = sum(theirs) == sum(resume.sizes)
    if same:
        message += " (the same total, in different groups)"
        text = fix(
            "create the optimizer with the saved groups, then load",
            *saved(resume),
            *rebuilt(resume, in_saved_order(resume)),
            LOAD,
        )
    elif names and not gone:
        message += f"; {summarize_names(names)} {agree(names, 'is', 'are')} not in the checkpoint"
        text = _grown(resume, new, names)
    elif gone and not new and len(theirs) == len(resume.sizes) == 1:
        message += f"; the {agree(gone, 'parameter', 'parameters')} saved at {_places(gone)} {agree(gone, 'is', 'are')} not in the optimizer"
        text = fix(
            "drop the entries that the optimizer no longer has, then load",
            *saved(resume),
            *popped(resume, gone),
            '    saved["param_groups"][0]["params"].remove(key)',
            *(
                [f'saved["param_groups"][0]["param_names"] = {list(_kept_names(resume, gone))}']
                if resume.saved.parameters[0].name
                else []
            ),
            LOAD,
        )
    else:
        text = fix(
            f"create the optimizer from the saved parameters, in groups of {theirs}:",
            *(f"#   {name}" for name in _described(resume.saved.parameters)),
            *saved(resume),
            LOAD,
        )
    return _problem("error", message, text, tuple(names) or resume.names or ("param_groups",))


def _kept_names(resume: Resume, gone: list[int]) -> Iterator[str]:
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    return (p.name for i, p in enumerate(resume.saved.parameters) if i not in gone)


def _grown(resume: Resume, new: list[int], names: list[str]) -> str:
    """Make it with the parameters that were saved, load, add the others."""
    assert resume.optimizer is not None  # noqa: S101 - group_problems() asked
    old = [row for i, row in enumerate(resume.rows) if i not in new]
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    named = any(p.name for p in resume.saved.parameters)
    added = "[(name, named[name]) for name in new]" if named else "[named[name] for name in new]"
    return fix(
        "create the optimizer with the saved parameters, load, then add the new ones",
        *saved(resume),
        *rebuilt(resume, old),
        LOAD,
        *assigned("new", names),
        f'optimizer.add_param_group({{"params": {added}}})',
    )


def _places(places: list[int]) -> str:
    return f"{agree(places, 'position', 'positions')} {join_names(map(str, places))}"


def _described(parameters: Sequence[SavedParameter], most: int = 12) -> list[str]:
    lines = [f"{p.key}: {p.name} {list(shape_at(p) or ())}".replace(":  ", ": ") for p in parameters[:most]]
    return [*lines, f"and {len(parameters) - most} more"] if len(parameters) > most else lines


def _absent(resume: Resume) -> Iterator[Problem]:
    """State for some of the parameters that learn, none for others."""
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    pairs = list(zip(resume.saved.parameters, resume.names, resume.rows, strict=True))
    spread = sum(bool(parameter.state) for parameter, _, _ in pairs)
    bare_names = [name for parameter, name, row in pairs if not parameter.state and row.requires_grad]
    if spread > 1 and bare_names:  # LBFGS keeps all its state with the first parameter.
        yield _problem(
            "warning",
            f"the checkpoint has no state for {summarize_names(bare_names)}, but {spread} other parameters have state: "
            f"{agree(bare_names, 'its', 'their')} moments start from zero",
            fix(
                f"if {agree(bare_names, 'it was', 'they were')} frozen or unused when saved, this is fine: load as is",
                *saved(resume),
                LOAD,
            ),
            tuple(bare_names),
        )


def _replaced(resume: Resume) -> Iterator[Problem]:
    """Settings: load_state_dict puts the checkpoint's in place of the optimizer's own."""
    assert resume.optimizer is not None  # noqa: S101 - group_problems() asked
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    changes, lines = [], []
    several = len(resume.saved.groups) > 1
    for number, (current_settings, group) in enumerate(zip(resume.optimizer.groups, resume.saved.groups, strict=True)):
        for name, kept in current_settings.items():
            value = setting_text(kept)
            theirs = group.settings.get(name, value)
            if theirs != value and not theirs.startswith("<") and not (name == "capturable" and uncapturable(resume)):
                changes.append(f"{f'group {number} ' if several else ''}{name} {value} becomes {theirs}")
                shown = repr(value) if isinstance(kept, str | SettingText) else value
                lines.append(f'optimizer.param_groups[{number}]["{name}"] = {shown}')
    if changes:
        names = dict.fromkeys(text.partition('["')[2].partition('"')[0] for text in lines)
        yield _problem(
            "info",
            f"the checkpoint's settings replace the optimizer's: {join_names(changes)}",
            fix("to keep your settings, set them again after loading", *saved(resume), LOAD, *lines),
            tuple(names),
        )


def _problem(severity: Severity, message: str, text: str, subjects: tuple[str, ...]) -> Problem:
    return Problem(severity, message, text, subjects=tuple(subjects))
