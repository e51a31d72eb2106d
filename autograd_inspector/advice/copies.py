"""Which copy keeps an in-place edit apart from what autograd saved, written with the program's own expressions."""

from __future__ import annotations

import ast

from autograd_inspector.advice.quoting import method_of
from autograd_inspector.advice.receivers import given_list, receiver
from autograd_inspector.advice.spelling import is_path, path_in
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import FOR_EACH
from autograd_inspector.source.fragments import expression, statement
from autograd_inspector.source.writing import written

_RESULTS = {"result", "output", "out", "result0", "result1"}
"""What an op saves of its own result: no copy of what it reads helps against an edit of that."""


def saves_its_result(saved: str) -> bool:
    """Whether the derivative formula needs the result, by the name that it gives to what it saves."""
    return saved.split("[", maxsplit=1)[0] in _RESULTS


def spelled(analysis: Analysis, edit: Op, name: str) -> str:
    """The expression for what an edit modifies: what its line says, else the name, where that is a variable."""
    place = analysis.capture.place(edit.site)
    if edit.name.startswith(FOR_EACH):
        return given_list(place, edit.name)  # The name is that of one of them.
    receiver_text = receiver(place, edit.name)
    if receiver_text:
        return receiver_text
    return name if is_path(name) and not analysis.capture.display_names.is_registered(name) else ""


def without_data(code: str) -> str:
    """``hidden`` of ``hidden.data``: what is to be copied, or computed with, instead of the alias."""
    node = expression(code)
    return written(node.value) if isinstance(node, ast.Attribute) and node.attr == "data" else code


def copied(edit: Op, code: str) -> str:
    """A copy of what an edit modifies, as far as ``code`` shows that: of a list a copy of each tensor in it."""
    node, text = expression(code), ""
    if isinstance(node, ast.ListComp):
        each = method_of(node.elt, "clone()")
        text = written(ast.ListComp(ast.Name(each), node.generators)) if each else ""
    elif isinstance(node, (ast.List, ast.Tuple)):
        items = [method_of(item, "clone()") for item in node.elts]
        text = f"[{', '.join(items)}]" if all(items) else ""
    elif not edit.name.startswith(FOR_EACH):
        text = "" if node is None else method_of(node, "clone()")
        return f"`{text}`" if text else "a copy (`.clone()`)"
    elif is_path(code):
        text = f"[t.clone() for t in {code}]"
    return f"`{text}`" if text else "`.clone()` of each tensor"


def stored_by(analysis: Analysis, edits: list[Op]) -> Op | None:
    """The op by which the line of the first edit puts its result back into a tensor: ``h[:, 0] += 1``.

    Of a list (``xs[0] += 1``) the item is assigned, which modifies no tensor.
    """
    line = line_of(analysis, edits[0].site)
    return next((op for op in edits[1:] if op.name == "__setitem__" and line_of(analysis, op.site) == line), None)


def subscripted(analysis: Analysis, stored: Op) -> str:
    """What the line subscripts to modify a part of a tensor: ``h`` of ``h[:, 0] += 1``, and of ``h[0][1] += 1``."""
    place = analysis.capture.place(stored.site)
    node = statement(place.source) if place is not None else None
    if not isinstance(node, ast.AugAssign):
        return ""
    shown: ast.expr = node.target
    tensor, line = stored.inputs[0], line_of(analysis, stored.site)
    while isinstance(shown, ast.Subscript):
        shown, made = shown.value, analysis.flow.birth(tensor)
        if made is None or made.name != "__getitem__" or line_of(analysis, made.site) != line:
            break
        tensor = made.inputs[0]
    text = written(shown)
    return text if is_path(text) else ""


def kept_apart(analysis: Analysis, edit: Op, name: str, saver: Op | None) -> str:
    """The advice for an edit that has to take effect: then whoever saves the value reads a copy. "" for any other.

    A copy of a buffer would lose what is written into it, a copy of a view would lose what its base is to get. And an
    assignment whose own right side is saved modifies the copy that was made before it.
    """
    if saver is None:
        return ""
    if is_a(edit.name, OpKind.RENORMALISES):
        return (
            f"An embedding with max_norm renormalizes {name} in place in every forward: {_read(analysis, saver, name)}, as "
            "the documentation of torch.nn.Embedding advises, or call the embedding first."
        )
    if edit.name == "__setitem__" and line_of(analysis, saver.site) == line_of(analysis, edit.site):
        return f"{_capital(_read(analysis, saver, name))}, or collect the parts in a list and combine them with torch.stack."
    if any(analysis.capture.tensors[write.tensor].kind == "buffer" for write in edit.writes):
        return f"{_capital(_read(analysis, saver, name))}, or call backward() before updating {name}."
    return ""


def _read(analysis: Analysis, saver: Op, name: str) -> str:
    """``pass `self.v.clone()` to `mv```."""
    read = read_as(analysis, saver, name)
    return (
        f"pass `{read}.clone()` to `{saver.name}`" if read else f"pass a copy (`.clone()`) of {name} to `{saver.name}`"
    )


def read_as(analysis: Analysis, saver: Op, name: str) -> str:
    """The expression by which an op's line reads what is called so; "" where it does not show that."""
    place = analysis.capture.place(saver.site)
    return _part(place.source if place is not None else "", name) or path_in(place, name.rsplit(".", 1)[-1])


def _part(source: str, name: str) -> str:
    """The one part of it that the line reads: ``traj[:, t]`` of ``traj``."""
    subscripts = {
        written(node)
        for node in ast.walk(statement(source) or ast.Pass())
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and written(node.value) == name
    }
    return subscripts.pop() if len(subscripts) == 1 else ""


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
