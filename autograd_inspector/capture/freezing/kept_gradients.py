"""Where the source keeps a `.grad` under a name or in a container, instead of using it at once.

What keeps it is plain Python, which nothing shows while the program runs: it is read off the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.cells import cell_at
from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.event import GradientKept, Lines
from autograd_inspector.source.index import Source
from autograd_inspector.source.kept_values import Kept, gathered, kept
from autograd_inspector.source.writing import written

_INNER = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}


def kept_gradients(recording: Recording) -> Iterator[GradientKept]:
    """One record for each site that keeps a gradient which a later backward adds to."""
    stale = {tensor for run in recording.backwards for tensor in run.stale}
    sites = dict.fromkeys(r.site for r in recording.grad_reads if r.gradient >= 0 and r.tensor in stale and r.leaf)
    for site in sites:
        kept_gradient = _kept(recording.stacks, site)
        if kept_gradient is not None:
            yield kept_gradient


def _kept(stacks: Stacks, site: int) -> GradientKept | None:
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    if len(chain) != len(stacks.chains[site]):
        return None  # A library reads gradients for its own ends.
    while chain:
        code, lasti = chain[0]
        source = source_at(code.co_filename)
        read = None if source is None else source.expression_at(span_at(compiled(code, lasti, library=False)))
        if source is None or read is None:
            return None
        value = gathered(source, read)
        if not isinstance(source.parents[value], ast.Return):
            callers = [at for at in chain if at[0].co_name not in _INNER][1:]
            return _record(site, code.co_filename, kept(source, value, _calls(code.co_filename, source, callers)))
        while chain and chain[0][0].co_name in _INNER:
            chain.pop(0)
        chain = chain[1:]
    return None


def _calls(filename: str, source: Source, callers: list[tuple[CodeType, int]]) -> list[ast.AST]:
    """The calls in the same file that led to the innermost function."""
    calls: list[ast.AST] = []
    for code, lasti in callers:
        call = source.expression_at(span_at(compiled(code, lasti, library=False)))
        if code.co_filename != filename or call is None:
            break
        calls.append(call)
    return calls


def _record(site: int, filename: str, kept_value: Kept | None) -> GradientKept | None:
    name = "" if kept_value is None else written(kept_value.target)
    if kept_value is None or not name:
        return None
    loops = () if kept_value.growing is None else (_lines(filename, kept_value.growing),)
    uses, renamed = (tuple(_lines(filename, node) for node in nodes) for nodes in (kept_value.uses, kept_value.renamed))
    return GradientKept(site, name, loops, uses, renamed)


def _lines(filename: str, node: ast.stmt) -> Lines:
    """The lines of a statement, as the editor's gutter numbers them."""
    first, last = node.lineno, node.end_lineno or node.lineno
    cell = cell_at(filename)
    return Lines(filename, first, last) if cell is None else Lines(filename, cell.gutter(first), cell.gutter(last))
