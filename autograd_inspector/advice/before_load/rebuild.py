"""The optimizer made anew so that a saved state_dict fits: the same groups, the same order."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.analysis.checkpoints.loading_lines import names_listed, recreated, settings
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.placement_rows import ParameterRow


def rebuilt(resume: Resume, ordered: Sequence[ParameterRow]) -> list[str]:
    """Statements that make the optimizer with these parameters in the groups that were saved."""
    optimizer, saved = resume.optimizer, resume.saved
    if optimizer is None or saved is None:
        return []
    name_of_tensor = {row.tensor: name for row, name in zip(resume.rows, resume.names, strict=True)}
    names = [name_of_tensor[row.tensor] for row in ordered]
    saved_names = [parameter.name for parameter in saved.parameters]
    made = f"optimizer = {maker(resume)}"
    rest = settings(optimizer.groups[0])
    if saved_names == names:
        return [
            "named = dict(model.named_parameters())",
            "groups = [",
            '    {"params": [(name, named[name]) for name in group["param_names"]]} for group in saved["param_groups"]',
            "]",
            f"{made}(groups{rest})",
        ]
    lines = [*first_of_model(resume), *assigned("order", names)]
    if len(saved.groups) == 1:
        return [*lines, f"{made}([named[name] for name in order]{rest})"]
    return [
        *lines,
        "names = iter(order)",
        'groups = [{"params": [named[next(names)] for _ in group["params"]]} for group in saved["param_groups"]]',
        f"{made}(groups{rest})",
    ]


def first_of_model(resume: Resume) -> list[str]:
    """``named``: name -> parameter."""
    if resume.target.has_model or not resume.target.names:
        return ["named = dict(model.named_parameters())"]
    return ['named = {name: p for g in optimizer.param_groups for name, p in zip(g["param_names"], g["params"])}']


def maker(resume: Resume) -> str:
    """``torch.optim.AdamW``."""
    return recreated(resume).removeprefix("optimizer = ").partition("(")[0]


def assigned(variable: str, values: Sequence[object]) -> list[str]:
    """``new = ["2.weight", "2.bias"]``, over several lines where it is long."""
    first, *more = names_listed(list(values))
    indent = " " * (len(variable) + 3)
    return [f"{variable} = {first}", *(indent + line for line in more)]
