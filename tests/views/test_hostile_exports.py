"""Whatever a program calls its things: every form of a report is well-formed, and nothing in it is obeyed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft4Validator

from autograd_inspector import Report
from autograd_inspector.model.edit import Edit
from autograd_inspector.model.excerpt import CodeLine, Excerpt
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules import CATALOGUE
from autograd_inspector.views.archive import storable
from autograd_inspector.views.encoding import encoded
from autograd_inspector.views.html.output import output_html
from autograd_inspector.views.notebook.saved import opened, saved
from autograd_inspector.views.sarif.log import Analysis, to_sarif

from .test_html import HOSTILE, Page

STRANGE = [
    *HOSTILE,
    "a\r\nb",
    "one\n\n\ntwo",
    "<!-- --> ]]> </style></pre></details>",
    "```\n# head\n[x](javascript:alert(1)) ![i](http://x/y)",
    "{0} {{x}} {{ 7*7 }} {% raw %}",
    "\\input{/etc/passwd} $x$ %",
    "=cmd|' /C calc'!A0",
    "\x1b]0;title\x07",
    "\ufeff\U000e0041a\tb\vc\fd",
    "漢字" * 2000,
    "",
    "   ",
]
OBEYED = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
SARIF = Draft4Validator(
    json.loads((Path(__file__).parents[1] / "cli" / "schemas" / "sarif-schema-2.1.0.json").read_text("utf-8"))
)
VERBATIM = {"insertedContent"}
"""What is written into a file of the program has its letters as they are."""


@pytest.fixture(params=STRANGE, ids=range(len(STRANGE)))
def report(request, broken):
    """That text in every field of three findings, in the program's error and in a note."""
    text = request.param
    place = Location(text, 3, text, source=text, role=text, expression=text, column=3, end_column=9)
    cell = Location(text, 1, text, cell=text, source=text, role=text, expression=text)
    lines = (CodeLine(1, text, text, text, culprit=True), CodeLine(3, text), CodeLine(4, ""))
    everywhere = Finding(
        "AG101", text, "error", text, text, (place, cell), (text,), (text,), ops=(0,), consequences=(text,),
        excerpts=(Excerpt(text, text, lines),), edits=(Edit(text, None, 1, 0, 1, 1, text),), applicability="unsafe",
        patch=f"--- a\n+++ b\n@@ -1 +1 @@\n-{text}\n+{text}x\n",
    )  # fmt: skip
    in_a_cell = Finding("AG102", text, "warning", text, text, (cell,))
    capture = msgspec.structs.replace(broken.capture, error=text)
    findings = (everywhere, in_a_cell, Finding("AG103", text, "info", text)) * 3
    return msgspec.structs.replace(broken, capture=capture, findings=findings, notes=(text,))


def test_texts_and_pages_have_nothing_that_is_obeyed(report):
    """No control character, direction mark or lone surrogate, in whatever a reader sees; pages close what they open."""
    shown = [report.to_text(), report.to_text(width=20), report.to_html(), report.to_html(interactive=True)]
    shown += [output_html(report), output_html(report, linked=True), report.to_dot()]
    for text in shown:
        assert text.encode()
        # A patch goes to the page as it is, within JSON: it is made for `git apply`.
        assert not OBEYED.search(re.sub(r'<script type="application/json".*?</script>', "", text))
    for text in (report.to_html(), output_html(report)):
        page = Page(text)
        assert not page.open
        assert not {"script", "img", "iframe"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not re.search(r"\n\s*\n", output_html(report).strip())


def test_data_can_be_read_back(report):
    """The report, the wire and what a notebook keeps are JSON without NaN, and again what they were."""
    text = report.to_json()
    assert Report.from_json(text) == storable(report)
    for each in (text, encoded(report)[0]):
        json.loads(each, parse_constant=pytest.fail)
    document, _ = opened(saved(report))
    assert [finding["rule"] for finding in document["findings"]][:3] == ["AG101", "AG102", "AG103"]


def test_sarif_is_valid(report):
    """By its schema; lines and columns begin at 1, addresses are encoded, messages have no controls."""
    text = to_sarif(Analysis((report,), Path("/src/train.py"), Path("/src"), 1, 1, "0.1.0"), CATALOGUE)
    log = json.loads(text, parse_constant=pytest.fail)
    assert [error.message for error in SARIF.iter_errors(log)] == []
    assert json.dumps(log, ensure_ascii=False).encode()
    for key, value in entries(log):
        if key in {"startLine", "endLine", "startColumn", "endColumn"}:
            assert value >= 1
        if key == "uri":
            assert re.fullmatch(r"[\w.~:/?#@!$&'()*+,;=%-]*", value, re.ASCII)
        if isinstance(value, str):
            assert not OBEYED.search(value)


def entries(value):
    """Every key of a document with what is there, but for what stands verbatim."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in VERBATIM:
                yield key, each
                yield from entries(each)
    elif isinstance(value, list):
        for each in value:
            yield from entries(each)
