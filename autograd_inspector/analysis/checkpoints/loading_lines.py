"""The statements that load a checkpoint, as a program would have them."""

from __future__ import annotations

import pprint
import re

from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.checkpoint import Checkpoint
from autograd_inspector.model.renaming import Renaming
from autograd_inspector.model.settings import Settings, is_off, setting_text

_WIDTH = 96


def opening(checkpoint: Checkpoint) -> list[str]:
    """Statements after which ``state`` is what the checkpoint holds."""
    source = repr(checkpoint.source)
    match checkpoint.format:
        case "dict":
            return ["state = checkpoint  # the dict that was inspected"]
        case "safetensors":
            return ["import safetensors.torch", f"state = safetensors.torch.load_file({source})"]
        case "sharded safetensors":
            files = f"sorted(pathlib.Path({source}).glob('*.safetensors'))"
            loop = [f"for shard in {files}:", "    state |= safetensors.torch.load_file(shard)"]
            return ["import pathlib, safetensors.torch", "state = {}", *loop]
        case "sharded torch.save":
            load = "torch.load(shard, map_location='cpu', weights_only=True)"
            return [
                "import pathlib",
                "state = {}",
                f"for shard in sorted(pathlib.Path({source}).glob('*.bin')):",
                f"    state |= {load}",
            ]
        case _:
            mapped = "" if "legacy" in checkpoint.format else "mmap=True, "
            return [f"state = torch.load({source}, map_location='cpu', {mapped}weights_only=True)"]


def at(path: tuple[str | int, ...]) -> str:
    """``state["optimizer_states"][0]``."""
    return "state" + "".join(
        f'["{key}"]' if isinstance(key, str) and key.isidentifier() else f"[{key!r}]" for key in path
    )


def renamed(renaming: Renaming, source: str) -> str:
    """An expression for a state_dict whose names are the model's."""
    if not renaming:
        return source
    name = "name"
    for wrapper in renaming.wrappers:
        name += f'.replace("{wrapper}", "")'
    lines = ["{", "", f"    for name, tensor in {source}.items()"]
    if renaming.removed:
        lines.append(f'    if {name}.startswith("{renaming.removed}")')
        name += f'.removeprefix("{renaming.removed}")'
    if renaming.added:
        name = f'"{renaming.added}" + {name}'
    lines[1] = f"    {name}: tensor"
    return "\n".join([*lines, "}"])


def names_listed(names: list[object]) -> list[str]:
    """A list of names as source, in lines short enough to be read."""
    return pprint.pformat(names, width=_WIDTH, compact=True).split("\n")


def plan(resume: Resume, *, settled: bool = True) -> list[str]:
    """All statements, in the right order: open, model, optimizer. ``settled``: the model is on its device already."""
    lines = opening(resume.checkpoint)
    fit = resume.fit
    if fit is not None:
        source = at(fit.saved.path)
        argument = "weights" if fit.renaming else source
        if fit.renaming:
            lines += f"weights = {renamed(fit.renaming, source)}".split("\n")
        assign = ", assign=True" if on_meta(resume) else ""
        strict = ", strict=False" if fit.missing or fit.tied or _left(resume) else ""
        lines.append(f"model.load_state_dict({argument}{strict}{assign})")
    if resume.optimizer is not None and resume.saved is not None:
        if not settled or on_meta(resume):
            lines.append(recreated(resume))
        lines.append(f"optimizer.load_state_dict({at(resume.saved.path)})")
    return lines


def on_meta(resume: Resume) -> bool:
    """Whether the model has no memory yet: loading into it is a no-op unless it assigns."""
    return any(slot.device == "meta" for slot in resume.target.slots)


def recreated(resume: Resume) -> str:
    """The statement that makes the optimizer anew over the model's parameters."""
    optimizer = resume.optimizer
    if optimizer is None:
        return ""
    group = optimizer.groups[0] if optimizer.groups else {}
    home = "torch.optim." if optimizer.module.startswith("torch.optim") else ""
    return f"optimizer = {home}{optimizer.type}(model.parameters(){settings(group)})"


def settings(group: Settings) -> str:
    """``, lr=0.001, betas=(0.9, 0.999)``: what a constructor takes, without what is off."""
    kept = {key: value for key, value in group.items() if key in _GIVEN and not is_off(value)}
    return "".join(f", {key}={setting_text(value)}" for key, value in kept.items())


_GIVEN = (
    "lr",
    "momentum",
    "dampening",
    "betas",
    "eps",
    "alpha",
    "weight_decay",
    "nesterov",
    "amsgrad",
    "fused",
    "capturable",
)


def _left(resume: Resume) -> bool:
    fit = resume.fit
    return fit is not None and any(fit.renaming.applies(name) for name in fit.unexpected)


def called(text: str, models: tuple[str, ...]) -> str:
    """Statements with the variable that the program has its model in, where that is known."""
    name = models[0] if models else ""
    return _MODEL.sub(f"{name}.", text) if _VARIABLE.fullmatch(name) else text


_VARIABLE = re.compile(r"[a-z_]\w*")
_MODEL = re.compile(r"\bmodel\.(?=(?:load_state_dict|state_dict|parameters|named_parameters|to|to_empty)\()")
