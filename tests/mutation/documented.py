"""The examples of a docstring of torch's as a program."""

from __future__ import annotations

import ast
import doctest
from pydoc import locate

from .sliced import PROVIDED

NAMED = "import torch.nn as nn\nimport torch.nn.functional as F\n"
"""What such examples take for imported."""


def documented(name: str) -> str:
    """The text of a module whose ``run()`` does what the docstring of that object shows."""
    examples = doctest.DocTestParser().get_examples(locate(name).__doc__ or "")
    body = [statement for example in examples for statement in ast.parse(example.source).body]
    run = ast.parse("def run():\n    pass").body[0]
    assert isinstance(run, ast.FunctionDef)
    run.body = body
    return ast.unparse(ast.Module([*ast.parse(PROVIDED + NAMED).body, run], []))
