"""What each rank tells the others, and how the parts of many ranks are read: what they tell alike once."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Raw, Struct

from autograd_inspector.analysis.ranks.summary import summarized
from autograd_inspector.analysis.ranks_data import RANKS_SCHEMA
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.sound import fault_in_placement
from autograd_inspector.model.totals import Total
from autograd_inspector.model.vitals import Vitals
from autograd_inspector.views.archive import ReportFormatError, decode_outline, decode_piece

_LONGEST = 400
"""Characters of an error's first line that are sent."""

T = TypeVar("T")


class RankPart(Struct, frozen=True):
    """What one rank tells the others: where its tensors live, what was found there, what the program raised.

    ``total``: the bytes of the placement, which each rank counts itself.
    """

    placement: Placement = Placement()
    findings: tuple[Finding, ...] = ()
    error: str = ""
    schema: int = RANKS_SCHEMA
    summary: RankSummary = RankSummary()
    vitals: Vitals = Vitals()
    total: Total | None = None


def part_of(report: ReportData) -> RankPart:
    """What a report tells the other ranks."""
    error = report.capture.error.split("\n", maxsplit=1)[0][:_LONGEST]
    placement = report.placement
    total = placement.totals.whole if placement.rows else Total()
    summary = summarized(report.capture)
    return RankPart(placement, report.findings, error, summary=summary, vitals=report.vitals, total=total)


class _Rows(Struct, frozen=True):
    rows: tuple[Raw, ...] = ()
    optimizers: tuple[Raw, ...] = ()


class _Pieces(Struct, frozen=True):
    """A part whose rows and records are not read yet."""

    placement: _Rows = _Rows()
    findings: tuple[Raw, ...] = ()
    error: Raw = Raw(b'""')
    summary: Raw = Raw(b"{}")
    vitals: Raw = Raw(b"{}")
    total: Raw = Raw(b"null")


class PartReader:
    """Reads the parts of many ranks. Records that are alike are one object in all of them, at the cost of one.

    A thousand ranks of one program differ in a few rows and settings: read one by one they would take minutes, and
    gigabytes.
    """

    def __init__(self) -> None:
        self._pieces: dict[tuple[Any, bytes], Any] = {}
        self._tuples: dict[tuple[int, ...], tuple[Any, ...]] = {}
        self._placements: dict[tuple[int, int], Placement] = {}

    def read(self, data: bytes) -> RankPart:
        """One part; raises ReportFormatError in one line for anything else."""
        pieces = decode_outline(data, _Pieces, RANKS_SCHEMA)
        return RankPart(
            self._placement(pieces.placement),
            self._all(pieces.findings, Finding),
            self._one(pieces.error, str),
            summary=self._one(pieces.summary, RankSummary),
            vitals=self._one(pieces.vitals, Vitals),
            total=self._one(pieces.total, Total | None),
        )

    def _placement(self, told: _Rows) -> Placement:
        rows = self._all(told.rows, ParameterRow)
        optimizers = self._all(told.optimizers, OptimizerRecord)
        key = (id(rows), id(optimizers))
        if key not in self._placements:
            placement = Placement(rows, optimizers)
            fault = fault_in_placement(placement)
            if fault:
                raise ReportFormatError(f"damaged autograd_inspector report: {fault}")
            self._placements[key] = placement
        return self._placements[key]

    def _all(self, raws: tuple[Raw, ...], kind: type[T]) -> tuple[T, ...]:
        records = tuple([self._one(raw, kind) for raw in raws])
        # By their identity: hashing a record looks through all of it.
        return self._tuples.setdefault(tuple(map(id, records)), records)

    def _one(self, raw: Raw, kind: Any) -> Any:
        key = (kind, bytes(raw))
        if key not in self._pieces:
            self._pieces[key] = decode_piece(key[1], kind)
        return self._pieces[key]
