"""Ways to rewrite a module, each of which leaves what it does as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random

from .adding import asserted, dead, logged, looked_at
from .naming import aliased, renamed, trapped
from .shaping import in_class, in_function
from .spelling import as_functions, in_lambdas, while_loops, with_keywords
from .splitting import split, wrapped
from .storing import annotated, as_attributes, as_items, in_expressions

Transform = Callable[[ast.Module, Random], ast.Module]


def unchanged(tree: ast.Module, _random: Random) -> ast.Module:
    """Nothing but how it is laid out."""
    return tree


TRANSFORMS: dict[str, Transform] = {
    "laid out anew": unchanged,
    "variables renamed": renamed,
    "variables named as traps": trapped,
    "modules under other names": aliased,
    "values printed": looked_at,
    "values logged": logged,
    "values asserted": asserted,
    "code that never runs": dead,
    "loop bodies in functions": in_function,
    "functions in classes": in_class,
    "chains of calls split": split,
    "statements in blocks": wrapped,
    "methods as functions": as_functions,
    "arguments by keyword": with_keywords,
    "for as while": while_loops,
    "statements in lambdas": in_lambdas,
    "variables as attributes": as_attributes,
    "variables as items": as_items,
    "variables annotated": annotated,
    "variables bound in expressions": in_expressions,
}
