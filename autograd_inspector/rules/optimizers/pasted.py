"""Fixes for optimizers as statements that can be pasted, with the names that the program itself uses."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord, ParameterRow
from autograd_inspector.rules.facts import Facts

TARGET = re.compile(r"[A-Za-z_][\w.]*")
_SETTINGS = ("lr", "momentum", "betas", "weight_decay", "nesterov", "amsgrad")
"""Settings of a group that torch's constructors take under the same name; what is off needs no saying."""
_LISTED = 4
"""More parameters than these are not listed one by one."""
_OFF = {"False", "0", "0.0", "None"}
HOMES = {"torch.optim": "torch.optim.", "schedulefree": "schedulefree."}


def variable(facts: Facts, optimizer: OptimizerRecord) -> str:
    """What the program calls the optimizer, as far as the statement that made it tells."""
    frames = [frame for frame in facts.capture.site(optimizer.site) if not frame.library]
    made = next((frame for frame in frames if not _passes_on(frame)), None)
    target = made.target if made is not None else ""
    return target if TARGET.fullmatch(target) else "optimizer"


def _passes_on(frame: Location) -> bool:
    """Whether the statement that holds the object is further out: a class that extends torch's, or a factory."""
    returned = frame.source.partition("#")[0].strip() == f"return {frame.expression}"
    return frame.expression.startswith("super().__init__") or (bool(frame.expression) and returned)


def stepper(facts: Facts, optimizer: OptimizerRecord) -> str:
    """What has the state: of a ZeroRedundancyOptimizer the optimizer inside, which needs no consolidation."""
    return variable(facts, optimizer) + (".optim" if optimizer.type == "ZeroRedundancyOptimizer" else "")


def state_moved(facts: Facts, optimizer: OptimizerRecord, rows: Iterable[ParameterRow]) -> str:
    """A statement that brings state to its parameters; "" where nothing is left to bring."""
    name = stepper(facts, optimizer)
    entries = [(row, entry) for row in rows for entry in row.state]
    if any(entry.device == "meta" != row.device for row, entry in entries):
        return ""
    if all(entry.dtype == row.dtype or entry.name == "step" for row, entry in entries):
        return f"{name}.load_state_dict({name}.state_dict())"
    return (
        f"for p, s in {name}.state.items(): s.update({{k: v.to(p.device) for k, v in s.items() if torch.is_tensor(v)}})"
    )


def group_added(facts: Facts, optimizer: OptimizerRecord, parameters: Iterable[int]) -> str:
    """``optimizer.add_param_group`` for parameters of a model; "" where they have no name in one."""
    found = _source(facts, list(parameters)) or _left_out(facts, optimizer, set(parameters))
    return f'{variable(facts, optimizer)}.add_param_group({{"params": {found}}})' if found else ""


def remade(facts: Facts, optimizer: OptimizerRecord, parameters: Iterable[int]) -> str:
    """The optimizer made anew over the model of these parameters; "" where it has groups, or settings of its own."""
    owners = {facts.capture.owners.get(tensor, -1) for tensor in parameters}
    home = next((prefix for module, prefix in HOMES.items() if optimizer.module.startswith(module)), "")
    if len(owners) != 1 or -1 in owners or len(optimizer.groups) != 1 or not home:
        return ""
    model = facts.capture.models[owners.pop()]
    if not TARGET.fullmatch(model):
        return ""
    group = optimizer.groups[0]
    # A scheduler has moved the rate since: a new one would start from here and move it again.
    group = group | {"lr": group.get("initial_lr", group.get("lr", "None"))}
    given = [f"{key}={group[key]}" for key in _SETTINGS if group.get(key, "False") not in _OFF]
    return f"{variable(facts, optimizer)} = {home}{optimizer.type}({', '.join([f'{model}.parameters()', *given])})"


def collected(facts: Facts, parameters: Iterable[int]) -> tuple[str, str]:
    """(an expression for exactly these parameters, the model that they belong to), "" where they have no names in one."""
    given = list(parameters)
    found = _source(facts, given)
    return (found, facts.capture.models[facts.capture.owners[given[0]]]) if found else ("", "")


def _source(facts: Facts, parameters: list[int]) -> str:
    """An expression for exactly these parameters: a module's ``parameters()``, or a list of them by name."""
    capture = facts.capture
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


def _left_out(facts: Facts, optimizer: OptimizerRecord, parameters: set[int]) -> str:
    """An expression for all that a model could learn and the optimizer does not hold; "" where these are not all."""
    capture = facts.capture
    owner = capture.owners.get(next(iter(parameters), -1), -1)
    model = capture.models[owner] if owner >= 0 else ""
    own = {t for t, root in capture.owners.items() if root == owner}
    held = set(optimizer.held)
    if not TARGET.fullmatch(model) or {t for t in own - held if capture.tensors[t].requires_grad} != parameters:
        return ""
    if own == parameters:
        return f"{model}.parameters()"
    known = f'any(p is q for g in {variable(facts, optimizer)}.param_groups for q in g["params"])'
    return f"[p for p in {model}.parameters() if p.requires_grad and not {known}]"


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
