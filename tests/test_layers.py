"""The one-way flow: capture -> model -> rules -> views, read off the import statements."""

import ast
from pathlib import Path

import pytest

import autograd_inspector

PACKAGE = Path(autograd_inspector.__file__).parent
NAME = PACKAGE.name
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path):
    """Every module that a file imports, anywhere in it, by its full name."""
    package = [NAME, *path.relative_to(PACKAGE).parent.parts]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from package import name` may import a module of that name.
            found += [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return found


def layer_of(module):
    """``rules`` of ``autograd_inspector.rules.edits.inplace``; "" when it is not ours."""
    parts = module.split(".")
    return parts[1] if parts[0] == NAME and len(parts) > 1 else ""


def files_of(layer):
    return [path for path in MODULES if path.relative_to(PACKAGE).parts[0] == layer]


def identifier(path):
    return path.relative_to(PACKAGE).as_posix()


def test_the_layers_exist():
    """The tests below look at something."""
    assert all(files_of(layer) for layer in ("capture", "source", "model", "rules", "views"))


def test_the_reader_of_imports_sees_every_form(tmp_path):
    """Plain, aliased, relative, inside functions: all are found."""
    source = (
        "import torch.nn as nn\nfrom torch import Tensor\ndef f():\n    from ..model import op\n    import os, re\n"
    )
    path = PACKAGE / "rules" / "imagined.py"
    found = imports_of(type("File", (), {"relative_to": path.relative_to, "read_text": lambda *_, **__: source})())
    assert {"torch.nn", "torch", f"{NAME}.model.op", "os", "re"} <= set(found)


@pytest.mark.parametrize("path", MODULES, ids=identifier)
def test_torch_is_imported_only_where_tensors_are_touched(path):
    """Only capture/ and integrations/ import torch, and the door that takes a live tensor or optimizer."""
    if path.relative_to(PACKAGE).parts[0] not in {"capture", "integrations", "live.py"}:
        assert [name for name in imports_of(path) if name.split(".")[0] == "torch"] == []


ALLOWED = {
    "source": {"source"},
    "model": {"model"},
    "rules": {"rules", "model", "interrupts"},
    "views": {"views", "model", "report"},  # a Report is a capture and its findings: what views show
    "capture": {"capture", "model", "source", "interrupts"},  # what a signal handler raised is nobody's failure
}


@pytest.mark.parametrize("layer", ALLOWED)
def test_a_layer_sees_only_what_is_before_it(layer):
    """model/ sees nothing else of ours; rules/, views/ and capture/ see model/ and themselves."""
    strangers = {
        f"{identifier(path)} imports {name}"
        for path in files_of(layer)
        for name in imports_of(path)
        if layer_of(name) and layer_of(name) not in ALLOWED[layer]
    }
    assert strangers == set()
