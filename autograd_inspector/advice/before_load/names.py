"""AG409 before a load: names that the checkpoint or the model lacks."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.fixes import fix, weights
from autograd_inspector.analysis.checkpoints.resume import ModelFit, Resume
from autograd_inspector.model.checkpoint import Slot
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.renaming import wrapper_of
from autograd_inspector.model.wording import agree, summarize_names


def name_problems(resume: Resume) -> Iterator[Problem]:
    """What load_state_dict of the model would say about names, one finding a cause."""
    fit = resume.fit
    if fit is None:
        if resume.target.has_model and not resume.target.has_optimizer:
            yield _no_model(resume)
        return
    if is_foreign(resume):
        yield _foreign(resume, fit)
        return
    if fit.renaming:
        yield _prefix(resume, fit)
    unexpected = [name for name in fit.unexpected if fit.renaming.applies(name)]
    if fit.missing or unexpected:
        yield _unlike(resume, fit, unexpected)
    if fit.tied:
        yield _tied(resume, fit)


def is_foreign(resume: Resume) -> bool:
    """Whether the checkpoint is another model's: nothing of it fits by name and shape, and most names are not there."""
    fit = resume.fit
    return fit is not None and len(fit.matched) == len(fit.reshaped) and len(fit.matched) < len(fit.missing)


def _no_model(resume: Resume) -> Problem:
    kind = "optimizer state but no model state" if resume.checkpoint.optimizers else "no model state"
    return _problem(
        "error",
        f"the checkpoint holds {kind}: nothing in it can be loaded into the model",
        fix(
            "save both, and inspect again",
            'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")',
        ),
        ("model",),
    )


def _foreign(resume: Resume, fit: ModelFit) -> Problem:
    theirs = [tensor.name for tensor in fit.saved.tensors]
    ours = [slot.name for slot in resume.target.slots]
    return _problem(
        "error",
        f"the checkpoint is from a different model: it has {len(fit.matched)} of the model's {len(ours)} names "
        f"({summarize_names(ours)}); its {len(theirs)} names are {summarize_names(theirs)}",
        fix("build the model that the checkpoint was saved from; its parameters were", *_shapes(fit)),
        (*ours, *theirs),
    )


def _shapes(fit: ModelFit, most: int = 12) -> list[str]:
    lines = [f"#   {tensor.name}: {list(tensor.shape)}" for tensor in fit.saved.tensors[:most]]
    left = len(fit.saved.tensors) - most
    return [*lines, f"#   and {left} more"] if left > 0 else lines


def _prefix(resume: Resume, fit: ModelFit) -> Problem:
    """A wrapper on one side only: hundreds of missing and unexpected names with one cause."""
    renaming = fit.renaming
    prefix = renaming.removed or renaming.added or renaming.wrappers[0]
    by = wrapper_of(prefix)
    of = f" (from {by})" if by else ""
    whose, other = ("the checkpoint's", "the model's") if not renaming.added else ("the model's", "the checkpoint's")
    where = "contain" if renaming.wrappers else "start with"
    both = f", {other} with `{renaming.removed}`" if renaming.added and renaming.removed else ""
    count = len(fit.matched)
    example, slot = fit.matched[0]
    return _problem(
        "error",
        f"{whose} names {where} `{prefix}`{of}{both} and {other} do not: load_state_dict would report all {count} as missing and "
        f"unexpected",
        fix(f"rename the {count} entries to match the model", *weights(resume), "model.load_state_dict(weights)"),
        (example.name, slot.name, *(tensor.name for tensor, _ in fit.matched[1:])),
    )


def _unlike(resume: Resume, fit: ModelFit, unexpected: list[str]) -> Problem:
    """Names on one side only; where their shapes pair up in order the modules were renamed."""
    missing = [slot.name for slot in fit.missing]
    pairs = _renamed(fit, unexpected)
    mismatches = []
    if missing:
        mismatches.append(
            f"{len(missing)} of the model's names {agree(missing, 'is', 'are')} missing from the checkpoint: {summarize_names(missing)}"
        )
    if unexpected:
        mismatches.append(
            f"{len(unexpected)} of the checkpoint's names {agree(unexpected, 'is', 'are')} unexpected: {summarize_names(unexpected)}"
        )
    message = f"model.load_state_dict raises; {'; '.join(mismatches)}"
    if pairs:
        message += " (their shapes match one by one: they were renamed)"
        renames = [f'    "{old}": "{new}",' for old, new in pairs.items()]
        lines = [
            "renames = {",
            *renames,
            "}",
            "weights = {renames.get(name, name): tensor for name, tensor in weights.items()}",
            "model.load_state_dict(weights)",
        ]
        text = fix("use the new names", *weights(resume), *lines)
    else:
        what = "missing parameters keep their current values" if missing else "unexpected entries are skipped"
        text = fix(f"if this is intended: {what}", *weights(resume), "model.load_state_dict(weights, strict=False)")
    handled = all(slot.hooked for slot in fit.missing) and all(_hooked(resume, name) for name in unexpected)
    details = ("These modules customize loading and may accept other names.",) if handled else ()
    return _problem("info" if handled else "error", message, text, (*missing, *unexpected), details)


def _hooked(resume: Resume, name: str) -> bool:
    owners = {slot.name.rpartition(".")[0] for slot in resume.target.slots if slot.hooked}
    return any(name.startswith(f"{owner}." if owner else "") for owner in owners)


def _renamed(fit: ModelFit, unexpected: list[str]) -> dict[str, str]:
    """Old name -> new name, when as many are missing as unexpected and their shapes agree in order."""
    shapes = {tensor.name: tensor.shape for tensor in fit.saved.tensors}
    pairs: list[tuple[str, Slot]] = list(zip(unexpected, fit.missing, strict=False))
    if not pairs or len(unexpected) != len(fit.missing):
        return {}
    alike = all(
        shapes.get(old) == new.shape and old.rpartition(".")[2] == new.name.rpartition(".")[2] for old, new in pairs
    )
    return {fit.renaming(old): new.name for old, new in pairs} if alike else {}


def _tied(resume: Resume, fit: ModelFit) -> Problem:
    """Names of tied parameters of which the checkpoint has another: safetensors keeps each memory once."""
    names = [slot.name for slot in fit.tied]
    safe = "safetensors" in resume.checkpoint.format
    return _problem(
        "info" if safe else "error",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} missing from the checkpoint but tied to a parameter that it contains: "
        f"model.load_state_dict raises without strict=False{', as with any safetensors file of tied parameters' if safe else ''}",
        fix(
            "the tied parameter is loaded under its other name",
            *weights(resume),
            "model.load_state_dict(weights, strict=False)",
        ),
        tuple(names),
    )


def no_optimizer(resume: Resume) -> Iterator[Problem]:
    """The checkpoint has no optimizer's state although an optimizer was given."""
    if resume.target.has_optimizer and resume.saved is None:
        yield _problem(
            "warning",
            "the checkpoint holds no optimizer state: the optimizer starts with fresh moments and its current settings",
            fix(
                "save both when writing the checkpoint",
                'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")',
            ),
            ("optimizer",),
        )


def _problem(
    severity: Severity, message: str, text: str, subjects: tuple[str, ...], details: tuple[str, ...] = ()
) -> Problem:
    return Problem(severity, message, text, subjects=tuple(subjects), details=details)
