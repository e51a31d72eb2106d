from __future__ import annotations

import json

import msgspec
import pytest

from autograd_inspector import Report
from autograd_inspector.api.report import SCHEMA, ReportFormatError


def test_a_report_survives_json(broken, finding):
    """Capture, findings and the graph made of them are equal after a round trip."""
    report = msgspec.structs.replace(broken, findings=(finding,))
    read = Report.from_json(report.to_json())
    assert read == report
    assert read.graph == report.graph
    assert read.to_text() == report.to_text()


def test_json_names_its_version(broken):
    """The text says which version of the form it is."""
    assert json.loads(broken.to_json())["schema"] == SCHEMA


def test_another_version_is_refused_in_one_line(broken):
    """A reader of this version does not guess at another."""
    data = json.loads(broken.to_json()) | {"schema": SCHEMA + 1}
    with pytest.raises(ReportFormatError, match=f"schema version {SCHEMA + 1}.* 1 to {SCHEMA}") as caught:
        Report.from_json(json.dumps(data))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"text"', "{}", '{"schema": "one"}', b"\xff\xfe", f'{{"schema": {SCHEMA}}}'],
    ids=["empty", "cut off", "list", "null", "string", "no version", "version no number", "no utf-8", "no capture"],
)
def test_what_is_no_report_is_refused_in_one_line(text):
    """Any other text raises ReportFormatError, never another exception."""
    with pytest.raises(ReportFormatError) as caught:
        Report.from_json(text)
    assert "autograd_inspector report" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_cut_off_text_is_refused(broken):
    """A report that was written half is not read half."""
    text = broken.to_json()
    for end in range(0, len(text), 997):
        with pytest.raises(ReportFormatError):
            Report.from_json(text[:end])
