"""Everything that is made of a report that was read from a file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from autograd_inspector import Report
from autograd_inspector.api.ranks import RanksReport, part_of, ranks_report
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
            said = str(error)
        assert said.isprintable()
        assert len(said) < 600
    return None


def shown_everywhere(given: Report | RanksReport) -> None:
    """Every view of it: none may fail, and what is written again is read again."""
    made = [given.to_text(), given.to_text(width=20), given.to_html(), repr(given)]
    if isinstance(given, Report):
        made += [given.to_dot(), given.to_dot(boxes=1), given.to_dot(color_by="device"), encoded(given)[0]]
        made.append(msgspec.json.encode(saved(given)).decode())
        made.append(to_sarif(Analysis((given,), Path("train.py"), Path.cwd()), CATALOGUE))
        made.append(str(given.placement.records()))
        merged = ranks_report({0: part_of(given), 2: part_of(given), 3: None})
        made += [merged.to_text(), merged.to_html()]
        assert RanksReport.from_json(merged.to_json()) == merged
    else:
        made.append(str(given.placement.records()))
    for text in made:
        text.encode("utf-8")
    assert type(given).from_json(given.to_json()) == given
