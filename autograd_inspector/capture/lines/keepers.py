"""The line that puts a result away for good, read off the source: ``history.append(loss)``, or what does so for it."""

from __future__ import annotations

from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.source.keeping import Keeping


def keeper(stacks: Stacks, site: int) -> int:
    """The site where what a statement (or one of its callers) assigns is put into something; -1 unknown.

    A helper of the same file that is given the result may do it, or a forward hook, which is given it by torch.
    """
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    for code, lasti in chain:
        source = source_at(code.co_filename)
        if source is None:
            continue
        here, keeping = compiled(code, lasti, library=False), source.index(Keeping)
        names = {part.strip() for part in here.target.strip("()").split(",")} - {""} or keeping.collected(span_at(here))
        line = keeping.kept_at(source.scope_at(here.lineno), names) if names else 0
        if line:
            return stacks.of_code(code, line)
    for code, _ in chain:
        source = source_at(code.co_filename)
        line = source.index(Keeping).hooked if source is not None else 0
        if line:
            return stacks.of_code(code, line)
    return -1
