"""What tensors and models are called: by their place in a model, and by the program's variables."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise

from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.recording.raw_records import OP_CALL, OP_INPUTS, OP_NAME, OP_OUTPUTS, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.location import Site
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ParameterRegistered
from autograd_inspector.source import fragments
from autograd_inspector.source.writing import written


def variable_names(recording: Recording, sites: tuple[Site, ...]) -> dict[int, str]:
    """The variable that each tensor was assigned to, from the source of the statement that made it.

    Of several ops that one expression runs (a module call, say), the last one's output is what gets assigned; the
    same op again and again is the statement in a loop. Leaves that running frames held are called as they were there.
    """
    variables: dict[int, str] = {}
    users = [site.user for site in sites]
    registered = {event.tensor for event in recording.events if isinstance(event, ParameterRegistered)}
    of_modules = recording.registry.parameters | recording.registry.buffers | registered
    for op, following in pairwise(chain(recording.ops, (None,))):
        if op is None:
            break
        user = users[op[OP_SITE]]
        if not op[OP_OUTPUTS] or user is None or not user.target:
            continue
        repeated = following is not None and (following[OP_NAME], following[OP_CALL]) == (op[OP_NAME], op[OP_CALL])
        if following is not None and users[following[OP_SITE]] == user and not repeated:
            continue
        # The statement may make or copy a whole module: `net = nn.Linear(4, 2)`, `ema = copy.deepcopy(net)`.
        copies = op[OP_NAME] == "__deepcopy__" and not of_modules.isdisjoint((*op[OP_INPUTS], *op[OP_OUTPUTS]))
        if not copies and registered.isdisjoint(op[OP_OUTPUTS]):
            variables |= dict(zip(op[OP_OUTPUTS], _targets(user.target, len(op[OP_OUTPUTS])), strict=False))
    for change in recording.requires_grad_changes:
        user = users[change.site]
        if user is not None and user.target and "," not in user.target:  # One of several has a name of its own.
            variables.setdefault(change.tensor, user.target)
    return variables | {number: name for number, name in recording.variables.items() if name}


def _targets(target: str, count: int) -> list[str]:
    parts = _flat(target) if "," in target and "[" not in target else []
    return parts if len(parts) > 1 else [target] * count


def _flat(target: str) -> list[str]:
    """The names of a target such as ``(out, (h, c))``, in order."""
    return [name for part in target.split(",") if (name := part.strip("() "))]


def model_names(modules: Modules, calls: tuple[ModuleCall, ...], sites: tuple[Site, ...]) -> tuple[str, ...]:
    """What each root is called in the program: its variable, else the expression that called it, else its class."""
    called: dict[int, str] = {}
    for call in calls:
        user = sites[call.site].user if call.site >= 0 else None
        if call.root >= 0 and call.path == "" and call.parent < 0 and user is not None:
            called.setdefault(call.root, _callee(user.expression))
    variables = Counter(root.variable for root in modules.roots.values())
    names = []
    for root in modules.roots.values():
        variable, by = root.variable, called.get(root.number, "")
        # A factory calls every model by the same name: what the program calls it with is its own.
        names.append((by if variables[variable] > 1 and by else variable) or by or root.type)
    return tuple(names)


def _callee(expression: str) -> str:
    """``net`` of ``net(x)``; "" when the expression is no plain call."""
    tree = fragments.expression(expression)
    if isinstance(tree, ast.Call) and isinstance(tree.func, (ast.Name, ast.Attribute, ast.Subscript)):
        return written(tree.func).removeprefix("self.")
    return ""


def tensor_names(modules: Modules, models: tuple[str, ...]) -> tuple[dict[int, tuple[str, ...]], str]:
    """(fully qualified names, the one model that has them all); of several models each name starts with its model's.

    A root all of whose tensors belong to a larger root is a part of that one, whoever called it first.
    """
    held: dict[int, set[int]] = {}
    for tensor, roots in modules.names.items():
        for root in roots:
            held.setdefault(root, set()).add(tensor)
    parts = set(_parts(modules, held))
    gone = {root.predecessor for root in modules.roots.values()} & held.keys() - parts  # Only what it lost is its own.
    whole = [root for root in held if root not in parts and root not in gone]
    prefixes = {root: f"{models[root]}." if len(whole) > 1 else "" for root in held}
    qualified_names: dict[int, tuple[str, ...]] = {}
    for tensor, roots in modules.names.items():
        own_first = sorted(roots, key=lambda root: root not in modules.roots or not modules.roots[root].variable)
        names = [prefixes[root] + name for root in own_first if root not in parts for name in roots[root]]
        qualified_names[tensor] = tuple(dict.fromkeys(names))
    return qualified_names, models[whole[0]] if len(whole) == 1 else ""


def _parts(modules: Modules, held: dict[int, set[int]]) -> Iterator[int]:
    """The roots that have nothing of their own: of two that have the same the later one.

    A larger one that no variable of the program's holds, as an exporter makes it, takes in none that one does.
    """
    variable = {root: modules.roots[root].variable for root in held if root in modules.roots}
    for root, tensors in held.items():
        others = modules.names[next(iter(tensors))]  # Only who has this one can have all of them.
        for other in others:
            if variable.get(root) and not variable.get(other):
                continue
            if tensors < held[other] or (tensors == held[other] and root > other):
                yield root
                break
