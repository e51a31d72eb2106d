"""Fixes for optimizers as statements that can be pasted, with the names that the program itself uses."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import TARGET, variable
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow
from autograd_inspector.model.settings import is_off, setting_text

_SETTINGS = ("lr", "momentum", "betas", "weight_decay", "nesterov", "amsgrad")
"""Settings of a group that torch's constructors take under the same name; what is off needs no saying."""
_LISTED = 4
"""More parameters than these are not listed one by one."""
HOMES = {"torch.optim": "torch.optim.", "schedulefree": "schedulefree."}


def stepper(analysis: Analysis, optimizer: OptimizerRecord) -> str:
    """What has the state: of a ZeroRedundancyOptimizer the optimizer inside, which needs no consolidation."""
    return variable(analysis, optimizer) + (".optim" if optimizer.type == "ZeroRedundancyOptimizer" else "")


def state_moved(analysis: Analysis, optimizer: OptimizerRecord, rows: Iterable[ParameterRow]) -> str:
    """A statement that brings state to its parameters; "" where nothing is left to bring."""
    name = stepper(analysis, optimizer)
    entries = [(row, entry) for row in rows for entry in row.state]
    if any(entry.device == "meta" != row.device for row, entry in entries):
        return ""
    if all(entry.dtype == row.dtype or entry.name == "step" for row, entry in entries):
        return f"{name}.load_state_dict({name}.state_dict())"
    return (
        f"for p, s in {name}.state.items(): s.update({{k: v.to(p.device) for k, v in s.items() if torch.is_tensor(v)}})"
    )


def group_added(analysis: Analysis, optimizer: OptimizerRecord, parameters: Iterable[int]) -> str:
    """``optimizer.add_param_group`` for parameters of a model; "" where they have no name in one."""
    parameter_list = _source(analysis, list(parameters)) or _left_out(analysis, optimizer, set(parameters))
    return f'{variable(analysis, optimizer)}.add_param_group({{"params": {parameter_list}}})' if parameter_list else ""


def remade(analysis: Analysis, optimizer: OptimizerRecord, parameters: Iterable[int], name: str = "") -> str:
    """The optimizer made anew over the model of these parameters; "" where it has groups, or settings of its own.

    ``name``: the variable that gets it, by default the optimizer's.
    """
    home = next((prefix for module, prefix in HOMES.items() if optimizer.module.startswith(module)), "")
    model = model_of(analysis, parameters)
    if not model or len(optimizer.groups) != 1 or not home:
        return ""
    group = optimizer.groups[0]
    # A scheduler has moved the rate since: a new one would start from here and move it again.
    group = group | {"lr": group.get("initial_lr", group.get("lr"))}
    options = [f"{key}={setting_text(group[key])}" for key in _SETTINGS if not is_off(group.get(key))]
    name = name or variable(analysis, optimizer)
    return f"{name} = {home}{optimizer.type}({', '.join([f'{model}.parameters()', *options])})"


def model_of(analysis: Analysis, parameters: Iterable[int]) -> str:
    """The variable of the one model that has all of these; "" where that is none."""
    owners = {analysis.capture.owners.get(tensor, -1) for tensor in parameters}
    model = analysis.capture.models[owners.pop()] if len(owners) == 1 and -1 not in owners else ""
    return model if TARGET.fullmatch(model) else ""


def collected(analysis: Analysis, parameters: Iterable[int]) -> tuple[str, str]:
    """(an expression for exactly these parameters, the model that they belong to), "" where they have no names in one."""
    tensors = list(parameters)
    parameter_list = _source(analysis, tensors)
    return (
        (parameter_list, analysis.capture.models[analysis.capture.owners[tensors[0]]]) if parameter_list else ("", "")
    )


def _source(analysis: Analysis, parameters: list[int]) -> str:
    """An expression for exactly these parameters: a module's ``parameters()``, or a list of them by name."""
    capture = analysis.capture
    owners = {capture.owners.get(tensor, -1) for tensor in parameters}
    if len(owners) != 1 or -1 in owners:
        return ""
    owner = owners.pop()
    model = capture.models[owner]
    if not TARGET.fullmatch(model):
        return ""
    names = {tensor: _local(name, model) for tensor in parameters for name in capture.tensors[tensor].names[:1]}
    if len(names) != len(parameters):
        return ""
    module = _common([name.rpartition(".")[0] for name in names.values()])
    inside = {
        tensor
        for tensor, root in capture.owners.items()
        if root == owner and any(_local(n, model).startswith(f"{module}.") for n in capture.tensors[tensor].names)
    }
    if module and inside == set(parameters):
        return f'{model}.get_submodule("{module}").parameters()'
    one_by_one = [f'{model}.get_parameter("{name}")' for name in names.values()]
    return f"[{', '.join(one_by_one)}]" if len(one_by_one) <= _LISTED else ""


def _left_out(analysis: Analysis, optimizer: OptimizerRecord, parameters: set[int]) -> str:
    """An expression for all that a model could learn and the optimizer does not hold; "" where these are not all."""
    capture = analysis.capture
    owner = capture.owners.get(next(iter(parameters), -1), -1)
    model = capture.models[owner] if owner >= 0 else ""
    model_parameters = {t for t, root in capture.owners.items() if root == owner}
    held = set(optimizer.held)
    if (
        not TARGET.fullmatch(model)
        or {t for t in model_parameters - held if capture.tensors[t].requires_grad} != parameters
    ):
        return ""
    if model_parameters == parameters:
        return f"{model}.parameters()"
    already_held = f'any(p is q for g in {variable(analysis, optimizer)}.param_groups for q in g["params"])'
    return f"[p for p in {model}.parameters() if p.requires_grad and not {already_held}]"


def _local(name: str, model: str) -> str:
    """The name within its model: with several models each name begins with its model's."""
    return name.removeprefix(f"{model}.")


def _common(paths: list[str]) -> str:
    """The innermost module that contains all of these."""
    parts = [path.split(".") for path in paths]
    shared = []
    for column in zip(*parts, strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return ".".join(shared)
