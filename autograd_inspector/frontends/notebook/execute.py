"""Run a cell's body on IPython's behalf, where another magic or a program calls ours with the text.

On top of a cell the header disappears before IPython runs it (see header.py). Under ``%%time``, or through
``run_cell_magic``, IPython hands us the body. ``run_cell`` would print the error and return; so: transform,
compile under the cell's name, execute, and let the exception pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell


def execute(shell: InteractiveShell, body: str, raw_cell: str, count: int) -> None:
    """Execute the body once, displaying what IPython would display."""
    __tracebackhide__ = True
    transformed = "\n" * _offset(raw_cell, body) + shell.transform_cell(body)
    if shell.should_run_async(body, transformed_cell=transformed):
        raise UsageError(
            "autograd_inspect: `await` outside a function needs %%autograd_inspect on the cell's first line"
        )
    name = shell.compile.cache(transformed, count, raw_code=body)
    tree = shell.transform_ast(shell.compile.ast_parse(transformed, filename=name))
    quiet = DisplayHook.semicolon_at_end_of_expression(body)
    with shell.builtin_trap, shell.display_trap:
        for node, shown in _nodes(tree.body, shell.ast_node_interactivity):
            if shown and not quiet:
                code = shell.compile(ast.Interactive([node]), name, "single")  # type: ignore[arg-type]
            else:
                code = shell.compile(ast.Module([node], []), name, "exec")  # type: ignore[arg-type]
            exec(code, shell.user_global_ns, shell.user_ns)  # noqa: S102 - the user's own cell


def _nodes(body: list[ast.stmt], interactivity: str) -> Iterator[tuple[ast.stmt, bool]]:
    """Each statement, and whether its value is displayed: IPython's ``ast_node_interactivity``."""
    last = len(body) - 1
    for index, node in enumerate(body):
        expression = isinstance(node, ast.Expr)
        yield (
            node,
            interactivity == "all"
            or (index == last and (interactivity == "last" or (expression and interactivity.startswith("last_expr")))),
        )
    if body and interactivity == "last_expr_or_assign":
        target = body[-1].targets[0] if isinstance(body[-1], ast.Assign) else getattr(body[-1], "target", None)
        if isinstance(target, ast.Name) and not isinstance(body[-1], (ast.For, ast.AsyncFor)):
            yield ast.fix_missing_locations(ast.Expr(ast.Name(target.id, ast.Load()))), True


def _offset(raw_cell: str, body: str) -> int:
    """How many lines of the cell stand above its body."""
    raw, lines = raw_cell.rstrip().splitlines(), body.rstrip().splitlines()
    above = len(raw) - len(lines)
    stripped = len(lines) - len(body.strip().splitlines())  # transform_cell() drops leading blank lines
    return above + stripped if above > 0 and raw[above:] == lines else stripped
