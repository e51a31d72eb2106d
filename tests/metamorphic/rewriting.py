"""A module of tests, rewritten so that its programs do the same and its tests go on after a false assertion."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection
from io import StringIO
from random import Random

from .placing import first_lines, marked, written
from .transforms import TRANSFORMS

COMMENTED = "comments"
ORIGINAL = "as it is"
KINDS = (COMMENTED, *TRANSFORMS)
_TRAPS = (
    "detach() here? no_grad, .item()", "log_prob of opt.zero_grad()", "inference_mode(); load_state_dict",
    "deepcopy, clone",
    "clip_grad_norm_(inf)", "requires_grad_(False)", "x = x.data; w.numpy()",
    "super().train(); with torch.no_grad():",
)  # fmt: skip


def rewritten(source: str, kind: str, tests: Collection[str], random: Random) -> tuple[str, dict[int, int]]:
    """A module's new source with those tests alone, and each line of it -> the line of the statement it stands for."""
    if kind == ORIGINAL:
        return source, first_lines(source)
    tree = marked(ast.parse(source))
    all_tests = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    dropped = {id(test) for test in all_tests if test.name not in tests}
    tree.body = [node for node in tree.body if id(node) not in dropped]
    for test in all_tests:
        test.body = _tried(test.body)
    if kind != COMMENTED:
        return written(TRANSFORMS[kind](tree, random))
    source, lines = written(tree)
    return commented(source, random), lines


def commented(source: str, random: Random) -> str:
    """Every statement gets a comment at its end."""
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    lines = source.splitlines(keepends=True)
    for row, column in [token.start for token in tokens if token.type == tokenize.NEWLINE]:
        text = lines[row - 1]
        lines[row - 1] = f"{text[:column].rstrip()}  # {random.choice(_TRAPS)}{text[column:]}"
    return "".join(lines)


def _tried(body: list[ast.stmt]) -> list[ast.stmt]:
    """What a test asserts, itself or by a helper, may be false of a variant: the reports after it are to come.

    The body of a `with` may be the inspected program, which is left as it is but for what it asserts.
    """
    tried: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.For | ast.If):
            statement.body = _tried(statement.body)
        elif isinstance(statement, ast.With):
            statement.body = [_go_on(each) if isinstance(each, ast.Assert) else each for each in statement.body]
        tried.append(statement if isinstance(statement, _KEPT) else _go_on(statement))
    return tried


_KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Return, ast.Nonlocal, ast.Global)


def _go_on(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Assert):  # Its message is of no interest, its test may make a report.
        expression = ast.Expr(statement.test)
        expression.original = statement.original  # type: ignore[attr-defined]
        statement = expression
    tried = ast.parse("try:\n    pass\nexcept Exception:\n    pass").body[0]
    assert isinstance(tried, ast.Try)
    tried.body = [statement]
    return tried
