"""Everything that is made of a report that was read from a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from autograd_inspector import Report
from autograd_inspector.api.rank_parts import part_of
from autograd_inspector.api.ranks import RanksReport, ranks_report
from autograd_inspector.api.report import ReportFormatError
from autograd_inspector.rules import CATALOGUE
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.notebook.saved import saved
from autograd_inspector.views.sarif.log import Analysis, to_sarif


def read(data: bytes) -> Report | RanksReport | None:
    """What `show` would read; None for what it refuses, in one line that can be printed."""
    for kind in (Report, RanksReport):
        try:
            return kind.from_json(data)
        except ReportFormatError as error:
            message = str(error)
        assert message.isprintable()
        assert len(message) < 600
    return None


def shown_everywhere(shown_report: Report | RanksReport) -> None:
    """Every view of it: none may fail, and what is written again is read again."""
    made = [shown_report.to_text(), shown_report.to_text(width=20), shown_report.to_html(), repr(shown_report)]
    if isinstance(shown_report, Report):
        made += [
            shown_report.to_dot(),
            shown_report.to_dot(boxes=1),
            shown_report.to_dot(color_by="device"),
            encoded(shown_report)[0],
        ]
        made.append(msgspec.json.encode(saved(shown_report)).decode())
        made.append(to_sarif(Analysis((shown_report,), Path("train.py"), Path.cwd()), CATALOGUE))
        made.append(str(shown_report.placement.records()))
        merged = ranks_report({0: part_of(shown_report), 2: part_of(shown_report), 3: None})
        made += [merged.to_text(), merged.to_html()]
        assert RanksReport.from_json(merged.to_json()) == merged
    else:
        made.append(str(shown_report.placement.records()))
    for text in made:
        text.encode("utf-8")
    assert type(shown_report).from_json(shown_report.to_json()) == shown_report
