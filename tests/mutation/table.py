"""The scores by kind, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .effects import CHANGES, LEAKS, RAISES, STARVES
from .operators import KINDS
from .scoring import Original, Score


def table(scores: Sequence[Score], originals: Iterable[Original]) -> Iterator[str]:
    """A line a kind, and the totals."""
    yield "".join(
        [
            f"{'kind':30} {'mutants':>8} {'found':>6} {'located':>8} {'first':>6} ",
            f"{'offered':>8} {'repaired':>9} {'same bits':>10} {'worse':>6} {'equivalent':>11} {'silent':>7}",
        ]
    )
    for kind in KINDS:
        of_kind = [score for score in scores if score.kind == kind]
        if of_kind:
            yield _line(kind, of_kind)
    for effect in (RAISES, STARVES, CHANGES, LEAKS):
        yield _line(f"all: {effect}", [score for score in scores if score.effect == effect])
    yield _line("all", scores)
    programs = list(originals)
    yield f"{sum(not each.loud for each in programs)} of {len(programs)} programs without a fault are silent"


def _line(name: str, scores: Sequence[Score]) -> str:
    faults = [score for score in scores if not score.equivalent]
    none = [score for score in scores if score.equivalent]
    return (
        f"{name:30} {len(faults):8} {sum(each.found for each in faults):6} {sum(each.located for each in faults):8} "
        f"{sum(each.first for each in faults):6} {sum(each.repair.offered for each in faults):8} "
        f"{sum(each.repair.repaired for each in faults):9} {sum(each.repair.same for each in faults):10} "
        f"{sum(bool(each.repair.worse) for each in scores):6} {len(none):11} {sum(each.silent for each in none):7}"
    )


def failures(scores: Iterable[Score], originals: Iterable[Original]) -> Iterator[str]:
    """What the report says where it should say something else."""
    for original in originals:
        if original.loud:
            yield f"{original.name}: nothing is wrong with it"
            yield from (f"    {line}" for line in _said(original.loud))
    for score in scores:
        if not score.well:
            error = score.error.partition("\n")[0][:150]
            yield f"{score.program}: {score.kind}: {_wrong(score)}; {score.effect or 'does nothing'} {error}"
            yield f"    planted at {list(score.lines)[:8]}: {score.planted[:200]}"
            yield from (f"    {line}" for line in _said(score.said))


def unrepaired(scores: Iterable[Score]) -> Iterator[str]:
    """The faults that no edit cures, and what an edit makes worse."""
    for score in scores:
        if score.repair.worse or not (score.equivalent or score.repair.repaired):
            became = score.repair.worse or score.repair.left or "nothing offered"
            yield f"{score.program}: {score.kind}: not repaired; {score.effect or 'does nothing'}, {became}"
            yield f"    planted at {list(score.lines)[:8]}: {score.planted[:200]}"
            yield from (f"    {line}" for line in _said(score.said))


def _wrong(score: Score) -> str:
    if score.failed:
        return f"failed: {score.failed[-800:]}"
    if score.equivalent:
        return "not silent"
    return "not found" if not score.found else "not located" if not score.located else "not first"


def _said(findings: Iterable[dict[str, object]]) -> Iterator[str]:
    return (f"{each['rule']} {each['severity']} {each['lines']} {str(each['message'])[:220]}" for each in findings)
