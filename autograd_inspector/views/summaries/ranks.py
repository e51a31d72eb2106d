"""The table of several ranks, folded both ways: like parameters share a row, like ranks a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from autograd_inspector.model.finding import SEVERITIES
from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.ranks import Lane, RankedFinding, RankedPlacement, RankedRow, Share, ranks_text
from autograd_inspector.model.totals import Total
from autograd_inspector.model.wording import counted, join_names
from autograd_inspector.views.display_text import size
from autograd_inspector.views.summaries.names import NUMBER, pattern_of
from autograd_inspector.views.summaries.table import Table

_HEADERS = ("parameter", "shape", "spread", "dtype", "optimizer", "state")
_NAMES = 4
_NOTHING = "–"


def headline(placement: RankedPlacement, findings: Sequence[RankedFinding]) -> str:
    """``4 ranks · 1 warning · ranks differ in 2 parameters``."""
    counts = [(s, sum(each.finding.severity == s for each in findings)) for s in SEVERITIES]
    severities = ", ".join(f"{n} {s}" if s == "info" else counted(n, s) for s, n in counts if n) or "no findings"
    parts = [counted(placement.world_size, "rank"), severities]
    if placement.missing:
        parts.append(f"no report from {ranks_text(placement.missing)}")
    if placement.differing:
        parts.append(f"ranks differ in {counted(len(placement.differing), 'parameter')}")
    return " · ".join(parts)


def common_marks(lanes: Sequence[Lane]) -> int:
    """How many entries all lanes begin with alike."""
    first = [lane.marks for lane in lanes if lane.marks]
    return next(
        (at for at, marks in enumerate(zip(*first, strict=False)) if len(set(marks)) > 1),
        min(map(len, first), default=0),
    )


def lane_lines(lanes: Sequence[Lane], most: int) -> Iterable[tuple[str, str]]:
    """(the ranks, what they did) of each lane; of what all begin with alike the last entry is left."""
    same = max(common_marks(lanes) - 1, 0)
    for lane in lanes:
        marks = [f"{text} ×{times}" if times > 1 else text for text, times in lane.marks]
        told = [*(["…"] if same else []), *marks[same : same + most]]
        if len(marks) > same + most:
            told.append(f"… {len(marks) - same - most} more")
        yield ranks_text(lane.ranks), " → ".join([*told, *filter(None, [lane.ending])]) or "nothing with the others"


def sums(placement: RankedPlacement) -> str:
    """The bytes of all ranks together."""
    whole = placement.whole
    kinds = (("parameters", whole.parameters), ("gradients", whole.gradients), ("state", whole.state))
    amounts = ", ".join(f"{size(count)} {kind}" for kind, count in kinds)
    return f"all ranks together: {amounts}; each cell is parameter + gradient + state on that rank"


def ranked_table(placement: RankedPlacement, most: int) -> Table:
    """One row for each kind of parameter, one column for each kind of rank (``most`` at the most), totals last."""
    kinds: dict[tuple[str, ...], list[RankedRow]] = {}
    for row in placement.rows:
        kinds.setdefault((NUMBER.sub("#", row.name), *_facts(row), *map(_unfolded, row.shares)), []).append(row)
    named = [(*_named(members), *_facts(members[0])) for members in kinds.values()]
    cells = [
        [_cell([row.shares[number] for row in members]) for members in kinds.values()]
        + [_total(placement.totals[number])]
        for number in range(len(placement.ranks))
    ]
    columns: dict[tuple[str, ...], list[int]] = {}
    for number, column in enumerate(cells):
        columns.setdefault((_device(placement, [number], exact=False), *column), []).append(number)
    shown = list(columns.items())[:most]
    headers = [_column(placement, numbers) for _, numbers in shown]
    rows = [(*names, *(column[1 + at] for column, _ in shown)) for at, names in enumerate(named)]
    alike = [n for n in range(2, len(_HEADERS)) if len(rows) > 1 and len({row[n] for row in rows}) == 1]
    kept = [n for n in range(len(_HEADERS)) if n not in alike and (n == 0 or any(row[n] for row in rows))]
    after = range(len(_HEADERS), len(_HEADERS) + len(shown))
    total = ("all", *[""] * (len(_HEADERS) - 1), *(column[-1] for column, _ in shown))
    hidden = [number for _, numbers in list(columns.items())[most:] for number in numbers]
    common = [f"{_HEADERS[n]} {rows[0][n]}" for n in alike if rows[0][n]]
    if hidden:
        common.append(f"not shown: {ranks_text(tuple(placement.ranks[number] for number in hidden))}")
    return Table(
        ", ".join(common),
        (*(_HEADERS[n] for n in kept), *headers),
        tuple(tuple(row[n] for n in (*kept, *after)) for row in (*rows, total)) if rows else (),
    )


def differences(placement: RankedPlacement) -> Iterable[str]:
    """One line for each way in which ranks differ, with the parameters that it concerns."""
    names: dict[str, list[str]] = {}
    for row in placement.differing:
        for difference in row.differences:
            names.setdefault(str(difference), []).append(row.name)
    for text, rows in names.items():
        yield f"{join_names(rows, _NAMES)}: {text}"


def _named(members: list[RankedRow]) -> tuple[str]:
    times = f"  ×{len(members)}" if len(members) > 1 else ""
    return (pattern_of([row.name for row in members]) + times,)


def _facts(row: RankedRow) -> tuple[str, ...]:
    """What the ranks have in common, or each value that some have."""
    shares = [share for share in row.shares if share is not None]
    optimizer = f"{row.optimizer}[{row.group}]" if row.group > 0 else row.optimizer
    return (
        "×".join(map(str, row.shape)) or "scalar",
        _each(", ".join(share.placements) for share in shares),
        _each(share.dtype for share in shares),
        optimizer or "none",
        _each(", ".join(share.state_names) for share in shares if share.state_names),
    )


def _each(values: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(values))


def _unfolded(share: Share | None) -> str:
    """What keeps two parameters in rows of their own, besides what they are."""
    return "" if share is None else f"{share.local_shape} {share.device} {share.state_devices} {share.stepped_by}"


def _cell(shares: list[Share | None]) -> str:
    """``36 B + 36 B + 72 B``: parameters, gradients and state of the rank, with what is not where it is expected."""
    held = [share for share in shares if share is not None]
    if not held:
        return _NOTHING
    parts = [sum(share.parameter for share in held), sum(share.gradient or 0 for share in held)]
    text = " + ".join(map(size, [*parts, sum(share.state for share in held)]))
    away = [device for device in held[0].state_devices if device != held[0].device]
    others = dict.fromkeys(share.stepped_by for share in held)
    remarks = [f"state on {device}" for device in away]
    remarks += [f"stepped by rank {rank}" if rank >= 0 else "stepped elsewhere" for rank in others if rank >= -1]
    return ", ".join([text, *remarks])


def _total(total: Total) -> str:
    return " + ".join(map(size, (total.parameters, total.gradients, total.state)))


def _device(placement: RankedPlacement, numbers: list[int], *, exact: bool) -> str:
    """The devices of some ranks' parameters, without their numbers unless ``exact``."""
    devices = [row.shares[n].device for n in numbers for row in placement.rows if row.shares[n] is not None]  # type: ignore[union-attr]
    return _each(device if exact else device.partition(":")[0] for device in devices)


def _column(placement: RankedPlacement, numbers: list[int]) -> str:
    device = _device(placement, numbers, exact=len(numbers) == 1)
    text = ranks_text(tuple(placement.ranks[number] for number in numbers))
    each = ", each" if len(numbers) > 1 else ""
    return f"{text}{each} ({device})" if device else f"{text}{each}"


def peak_lines(vitals: RankedVitals) -> Iterator[str]:
    """The most memory that was alive on a rank, and the least where ranks differ."""
    peaks = vitals.peaks()
    if not peaks:
        return
    least, most = min(peaks, key=lambda rank: peaks[rank]), max(peaks, key=lambda rank: peaks[rank])
    if peaks[least] < peaks[most]:
        low = f"{size(peaks[least])} on {ranks_text((least,))}"
        yield f"peak memory: {size(peaks[most])} on {ranks_text((most,))}, {low}"
    else:
        yield f"peak memory: {size(peaks[most])} per rank"
