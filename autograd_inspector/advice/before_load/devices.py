"""AG401 before a load: devices that this machine lacks, tensors without data, flags that a device does not support."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.fixes import LOAD, fix, saved
from autograd_inspector.analysis.checkpoints.loading_lines import on_meta, opening, plan, recreated
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.checkpoint import CheckpointTensor
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.wording import agree, join_names, summarize_names

_NO_CAPTURE = ("cpu", "mps", "meta")


def device_problems(resume: Resume) -> Iterator[Problem]:
    """From where to where: the first cause that applies, and the flags of the optimizer's groups."""
    empty = [tensor.name for tensor in _tensors(resume) if tensor.device == "meta"]
    if empty:
        yield _empty(resume, empty)
    elif on_meta(resume) or any(row.device == "meta" for row in resume.rows):
        yield _nowhere(resume)
    elif resume.checkpoint.absent and resume.checkpoint.source:
        yield _absent(resume)
    else:
        yield from _elsewhere(resume)
    yield from _captured(resume)


def _tensors(resume: Resume) -> list[CheckpointTensor]:
    models = [resume.fit.saved] if resume.fit is not None else resume.checkpoint.models
    tensors = [tensor for model in models for tensor in model.tensors]
    if resume.saved is not None:
        tensors += [entry for parameter in resume.saved.parameters for entry in parameter.state]
    return tensors


def _empty(resume: Resume, names: list[str]) -> Problem:
    severity: Severity = "error" if resume.target.has_model or resume.target.has_optimizer else "warning"
    return _problem(
        severity,
        f"{summarize_names(names)} {agree(names, 'was', 'were')} saved from the meta device and {agree(names, 'has', 'have')} "
        "no data: loading raises, or leaves state that step() cannot use",
        fix(
            "save the checkpoint from a model that has data",
            'model.to_empty(device="cpu")  # then load or initialize it',
            'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")',
        ),
        tuple(names),
    )


def _nowhere(resume: Resume) -> Problem:
    """A model on meta: a load copies into nothing, and says so in a warning at most."""
    names = [slot.name for slot in resume.target.slots if slot.device == "meta"]
    names = names or [name for name, row in zip(resume.names, resume.rows, strict=True) if row.device == "meta"]
    model = on_meta(resume)
    remade = [recreated(resume)] if resume.optimizer is not None and not model else []
    lines = plan(resume) if model else ['model.to_empty(device="cpu")', *remade, *plan(resume)]
    held = (
        "; the optimizer holds these meta parameters, and its state would be moved to meta"
        if resume.optimizer is not None
        else ""
    )
    return _problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} on the meta device: load_state_dict without assign=True copies "
        f"nothing into {agree(names, 'it', 'them')}{held}",
        fix("load with assign=True, which replaces the parameters, and create the optimizer after that", *lines),
        tuple(names),
    )


def _absent(resume: Resume) -> Problem:
    absent = resume.checkpoint.absent
    order = plan(resume) if resume.fit is not None or resume.optimizer is not None else opening(resume.checkpoint)
    return _problem(
        "warning",
        f"the checkpoint was saved from {join_names(absent)}, which is not available here: torch.load without map_location raises",
        fix("load it to the CPU; load_state_dict then copies to the devices of the parameters", *order),
        absent,
    )


def _elsewhere(resume: Resume) -> Iterator[Problem]:
    """Other devices that exist: load_state_dict copies across, in the right direction."""
    if "safetensors" in resume.checkpoint.format:
        return
    pairs = [(t.name, t.device, slot.device) for t, slot in (resume.fit.matched if resume.fit is not None else ())]
    if resume.saved is not None and resume.same_groups:
        pairs += [
            (entry.name, entry.device, row.device)
            for parameter, row in zip(resume.saved.parameters, resume.rows, strict=True)
            for entry in parameter.state
            if entry.name != "step"
        ]
    moved = [(name, before, after) for name, before, after in pairs if after and before != after]
    if moved:
        _, before, after = moved[0]
        yield _problem(
            "info",
            f"{len(moved)} tensors of the checkpoint are on {before} and are copied to {after}, where the parameters are",
            fix("move the model to its device before creating the optimizer, then load", *plan(resume)),
            tuple(dict.fromkeys(name for name, _, _ in moved)),
        )


def uncapturable(resume: Resume) -> list[str]:
    """The devices of parameters that cannot step with the ``capturable=True`` that the checkpoint brings."""
    if resume.saved is None or resume.optimizer is None or not resume.same_groups:
        return []
    flagged = any(
        group.settings.get("capturable") == "True" and any(parameter.state for parameter in group.parameters)
        for group in resume.saved.groups
    )
    if not flagged or not resume.optimizer.module.startswith("torch.optim"):
        return []
    return sorted({row.device for row in resume.rows if row.device.startswith(_NO_CAPTURE)})


def _captured(resume: Resume) -> Iterator[Problem]:
    """``capturable=True`` comes back with the groups; on a CPU the next step raises AssertionError."""
    hosts = uncapturable(resume)
    if hosts:
        yield _problem(
            "error",
            f"the checkpoint's groups have capturable=True (for CUDA graphs), which replaces your setting: step() raises for parameters "
            f"on {join_names(hosts)}",
            fix(
                "turn it off before loading",
                *saved(resume),
                'for group in saved["param_groups"]:',
                '    group["capturable"] = False',
                LOAD,
            ),
            ("capturable",),
        )


def _problem(severity: Severity, message: str, text: str, subjects: tuple[str, ...]) -> Problem:
    return Problem(severity, message, text, subjects=tuple(subjects))
