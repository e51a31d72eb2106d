"""State_dicts and modules -> the frozen records of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from autograd_inspector.capture.checkpoint_files.files import Locations
from autograd_inspector.capture.checkpoint_files.layout import plain_key
from autograd_inspector.capture.graph_walk.saved_tensors import short
from autograd_inspector.capture.lines.callables import unwrapped
from autograd_inspector.capture.module_tree import every_path
from autograd_inspector.capture.observers.optimizers.placement import settings_of
from autograd_inspector.capture.observers.optimizers.state_contents import StateContents
from autograd_inspector.capture.tensors.attributes import nbytes_of, shape_of
from autograd_inspector.capture.torch_private.modules import (
    left_out,
    loader_of,
    loading_hooks_of,
    metadata_of,
    own_buffers,
    own_parameters,
)
from autograd_inspector.capture.torch_private.tensors import storage_key
from autograd_inspector.model.checkpoint import (
    CheckpointError,
    CheckpointTensor,
    SavedGroup,
    SavedModel,
    SavedOptimizer,
    SavedParameter,
    Slot,
    SlotKind,
    Target,
)
from autograd_inspector.model.settings import setting_text

Path = tuple[str | int, ...]


def saved_tensor(name: str, tensor: Tensor, locations: Locations) -> CheckpointTensor:
    """The metadata of one tensor; of one read from a file the device that it was saved from."""
    try:
        device = locations.get(storage_key(tensor.untyped_storage()), "") or short(tensor.device)
    except (RuntimeError, NotImplementedError):  # Sparse, nested: no storage of its own.
        device = short(tensor.device)
    return CheckpointTensor(name, tuple(shape_of(tensor)), short(tensor.dtype), device, nbytes_of(tensor))


def saved_model(path: Path, state: Mapping[str, Any], locations: Locations) -> SavedModel:
    """A model's state_dict."""
    return SavedModel(
        path,
        tuple(saved_tensor(name, value, locations) for name, value in state.items() if isinstance(value, Tensor)),
        tuple(name for name, value in state.items() if not isinstance(value, Tensor)),
        versioned=bool(metadata_of(state)),
    )


def saved_optimizer(path: Path, state: Mapping[str, Any], locations: Locations) -> SavedOptimizer:
    """An optimizer's state_dict; raises CheckpointError when its groups are not lists of positions."""
    entries = state["state"]
    groups = []
    for group in state["param_groups"]:
        keys = group.get("params") if isinstance(group, Mapping) else None
        if not isinstance(keys, (list, tuple)) or not all(isinstance(key, (int, str)) for key in keys):
            raise CheckpointError(
                "the checkpoint's param_groups do not list parameters by position: it is not an "
                "optimizer.state_dict(); save the one that optimizer.state_dict() returns"
            )
        param_names = group.get("param_names")
        names = [str(name) for name in param_names] if isinstance(param_names, (list, tuple)) else []
        parameters = []
        for place, key in enumerate(keys):
            name = names[place] if place < len(names) else key if isinstance(key, str) else ""
            state_tensors = StateContents(entries.get(key, {})).tensors
            held = tuple(saved_tensor(each.name, each.tensor, locations) for each in state_tensors)
            parameters.append(SavedParameter(plain_key(key), name, held))
        groups.append(SavedGroup(_settings(dict(group)), tuple(parameters)))
    return SavedOptimizer(path, tuple(groups))


def _settings(group: dict[str, Any]) -> dict[str, str]:
    """The settings as text; of those whose value is not for reading (a tensor, a long list) the type in angles."""
    whole = {str(name): f"<{type(value).__name__}>" for name, value in group.items() if name not in _NO_SETTINGS}
    plain = settings_of({name: value for name, value in group.items() if name not in _NO_SETTINGS})
    return whole | {name: setting_text(value) for name, value in plain.items()}


_NO_SETTINGS = ("params", "param_names")


def target_of(model: nn.Module | None, optimizer: Optimizer | None) -> Target:
    """What the model and the optimizer expect; no state_dict is made, so no hook of the program runs."""
    group_names = [] if optimizer is None else [list(group.get("param_names", ())) for group in optimizer.param_groups]
    counts = [] if optimizer is None else [len(group["params"]) for group in optimizer.param_groups]
    names = [name for group, count in zip(group_names, counts, strict=True) for name in (group or [""] * count)]
    return Target(
        has_model=model is not None,
        has_optimizer=optimizer is not None,
        slots=() if model is None else tuple(_slots(model)),
        names=tuple(map(str, names)) if any(names) else (),
        defaults=() if optimizer is None else tuple(map(str, optimizer.defaults)),
        own_loading=optimizer is not None and type(optimizer).load_state_dict is not Optimizer.load_state_dict,
    )


def _slots(model: nn.Module) -> Iterator[Slot]:
    """Every name of the model's state_dict, those of tied parameters each."""
    hooked: list[str] = []
    owners: dict[int, int] = {}
    for prefix, module in every_path(model):
        path = f"{prefix}." if prefix else ""
        if _loads_itself(module):
            hooked.append(path)
        special = any(path.startswith(outer) for outer in hooked)
        parameters = own_parameters(module)
        kept = {n: b for n, b in own_buffers(module).items() if n not in (left_out(module) or ())}
        for name, tensor in (*parameters.items(), *kept.items()):
            if tensor is not None:
                kind: SlotKind = "parameter" if name in parameters else "buffer"
                owner = owners.setdefault(id(tensor), len(owners))
                lazy = is_lazy(tensor)
                shape = () if lazy else tuple(shape_of(tensor))
                yield Slot(
                    f"{path}{name}", kind, shape, short(tensor.dtype), short(tensor.device), owner, special, lazy
                )
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            yield Slot(f"{path}_extra_state", "extra", (), "", "", hooked=special)


def _loads_itself(module: nn.Module) -> bool:
    """Whether loading may rename or reshape what it is given, beside what torch's own modules do."""
    loader, plain, hooks = loader_of(type(module)), loader_of(nn.Module), loading_hooks_of(module)
    if loader is None or hooks is None or left_out(module) is None:
        return True  # There is no telling.
    return (loader is not plain and not _torchs(loader)) or any(not _torchs(hook) for hook in hooks.values())


def _torchs(function: Any) -> bool:
    inner = unwrapped(getattr(function, "hook", function))
    return str(getattr(inner, "__module__", "")).startswith("torch.nn.modules")
