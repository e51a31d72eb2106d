"""Modules under names of the program's own: what is called in their name is a function, not a method of a value."""

from __future__ import annotations

import ast
import linecache
import types

import pytest
import torch
import torch.nn.functional as fn
from torch import nn

import autograd_inspector
from autograd_inspector.capture.lines.frame_facts import GlobalNames

from .programs import diagnosed

torch_ops = torch
settings = torch.Tensor
"""A class is no value either: `settings.relu_(w)` modifies w."""
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))


def test_a_module_is_not_what_is_modified():
    """Whatever the module is called, and wherever the name was given to it."""

    def imported():
        w = torch.randn(3, requires_grad=True)
        fn.relu_(w)

    def imported_here():
        import torch.nn.functional as head

        w = torch.randn(3, requires_grad=True)
        head.relu_(w)

    def renamed():
        layers = nn.init
        w = torch.randn(3, requires_grad=True)
        with torch.enable_grad():
            layers.torch.relu_(w)

    def attribute():
        w = torch.randn(3, requires_grad=True)
        torch_ops.nn.functional.relu_(
            w,
        )

    def of_a_class():
        w = torch.randn(3, requires_grad=True)
        settings.relu_(w)

    for program in (imported, imported_here, renamed, attribute, of_a_class):
        culprit = ".relu_("
        finding = diagnosed(program, "AG203", culprit, "modify w in place", "w.clone()", severity="error")
        assert "w" in finding.subjects


def test_a_value_named_as_a_module():
    """A tensor may be called `F`, or lie in an object called `torch_ops`."""

    class Kept:
        pass

    def program():
        F = torch.randn(3, requires_grad=True)
        F[0].relu_()

    def kept():
        torch_ops = Kept()
        torch_ops.init = torch.randn(3, requires_grad=True)
        torch_ops.init[0].relu_()

    diagnosed(program, "AG203", ".relu_()", "modify F[0] in place", severity="error")
    diagnosed(kept, "AG203", ".relu_()", "modify torch_ops.init[0] in place", severity="error")


def test_namespaces_of_a_place():
    """Each place tells which parts of its expression are modules or classes; of a name with several meanings none."""

    def mixed(other):
        if other:
            import torch.nn.functional as one
        else:
            one = X
        y = torch.relu(fn.softplus(X.clone()))
        one.softplus(X)
        return y

    with autograd_inspector.inspect() as inspection:
        mixed(other=True)
    found = {place.source: place.namespaces for site in inspection.report.capture.sites for place in site.frames}
    assert found["y = torch.relu(fn.softplus(X.clone()))"] == ("torch", "fn")
    assert found["one.softplus(X)"] == ()


def test_an_expression_over_several_lines():
    """It is shown on one line, without the comments in it."""

    def program():
        return torch.add(
            X,  # torch.randn(3)
            X,
        )

    with autograd_inspector.inspect() as inspection:
        program()
    (place,) = {
        place for site in inspection.report.capture.sites for place in site.frames if "torch.add" in place.source
    }
    assert ast.unparse(ast.parse(place.expression)) == "torch.add(X, X)"


@pytest.mark.parametrize("between", [0, 1, 100])
def test_a_script_that_imports_between_its_ops(between):
    """A name that was not there yet when the script was first met: it is the module that it became."""
    filename = f"late_{between}.py"
    text = (
        "import torch\nw = torch.ones(2, requires_grad=True)\n"
        + "torch.exp(w)\n" * between
        + "import torch.nn.functional as fn\nfn.relu_(w)\n"
    )
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    with autograd_inspector.inspect() as inspection, pytest.raises(RuntimeError):
        exec(compile(text, filename, "exec"), {"__name__": "late"})
    places = {place for site in inspection.report.capture.sites for place in site.frames}
    assert [place.namespaces for place in places if place.source == "fn.relu_(w)"] == [("fn",)]
    (finding,) = inspection.report.findings
    assert "modify w in place" in finding.message


@pytest.mark.parametrize(("looks", "found"), [(5, {"there": "torch"}), (500, {})])
def test_names_are_looked_up_so_often(looks, found):
    """Most of those that are not there are no variables, and a script has a new stack on each line."""
    names, code = GlobalNames(), compile("x.there", "never.py", "exec")
    frame = types.SimpleNamespace(f_code=code, f_globals={})
    for _ in range(looks):
        names.meet(frame)
    frame.f_globals["there"] = torch
    names.meet(frame)
    assert names.of(code) == found
