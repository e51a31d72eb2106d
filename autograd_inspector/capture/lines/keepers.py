"""The line that puts a result away for good, read off the source: ``history.append(loss)``, or what does so for it."""

from __future__ import annotations

from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.source.keeping import Keeping


def keeper(stacks: Stacks, site: int) -> tuple[int, bool]:
    """(site, whether it is returned there) of what puts away what a statement, or a caller of it, assigns; -1: unknown.

    A helper of the same file that is given the result may do it, or a forward hook, which is given it by torch. A part
    of what a call returns is known by the name that the callee has for it: ``outputs.loss``. Where nothing shows who
    keeps it, the line counts that returns it.
    """
    chain = [(code, lasti) for code, lasti, library in stacks.chains[site] if not library]
    inner: set[str] = set()
    returned = -1
    for code, lasti in chain:
        source = source_at(code.co_filename)
        if source is None:
            continue
        here, keeping = compiled(code, lasti, library=False), source.index(Keeping)
        names = {part.strip() for part in here.target.strip("()").split(",")} - {""} or keeping.collected(span_at(here))
        scope = source.scope_at(here.lineno)
        line = names and (
            keeping.kept_at(scope, names)
            or keeping.field_kept_at(scope, names, inner)
            or keeping.part_kept_at(scope, names)
        )
        if line:
            return stacks.of_code(code, line), False
        if names and returned < 0 and (line := keeping.returned_at(scope, names)):
            returned = stacks.of_code(code, line)
        inner |= names
    for code, _ in chain:
        source = source_at(code.co_filename)
        line = source.index(Keeping).hooked if source is not None else 0
        if line:
            return stacks.of_code(code, line), False
    return returned, returned >= 0
