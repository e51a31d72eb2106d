"""Ways to rewrite a module, each of which leaves what it does as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random

from .adding import asserted, counted, dead, formatted, logged, looked_at
from .calling import decorated, from_table, in_base_classes, partly_bound
from .forms import (
    as_methods,
    augmented,
    backward_called,
    cleared_by_hand,
    in_decorators,
    in_place_calls,
    switched,
)
from .naming import aliased, renamed, trapped
from .shaping import in_class, in_function
from .spelling import as_functions, in_lambdas, while_loops, with_keywords
from .splitting import split, wrapped
from .storing import annotated, as_attributes, as_items, in_expressions, listed_in_loops, returned_by_name, unpacked

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
    "values formatted": formatted,
    "values given to NumPy": counted,
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
    "variables unpacked": unpacked,
    "results returned by name": returned_by_name,
    "comprehensions as loops": listed_in_loops,
    "functions as methods": as_methods,
    "augmented as in-place calls": in_place_calls,
    "in-place calls as augmented": augmented,
    "backward as a function": backward_called,
    "gradients cleared by hand": cleared_by_hand,
    "grad mode by decorator or block": in_decorators,
    "grad mode switched": switched,
    "calls from a table": from_table,
    "arguments bound before": partly_bound,
    "functions decorated": decorated,
    "classes with a base": in_base_classes,
}
