from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.model.edit import Unedited
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.views.html.output import output_html
from autograd_inspector.views.html.page import to_interactive_html
from autograd_inspector.views.markup import prose

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><b onmouseover="alert(1)">',
    "right\u202eto left",
    "nul\0byte",
    "\x1b[31mred\x1b[0m",
    "x" * 10_000,
    "lone \ud800 surrogate",
    "&lt;&amp;",
    "\\N \\G \\l",
    "no \ufffe character \ufdd0",
    "|a`b`|",
    "line\u2028separator\x85",
]


class Page(HTMLParser):
    """Tags and text of a page, and whether every element is closed in order."""

    VOID = frozenset({"meta", "br", "img"})

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_has_every_part(broken, finding):
    """Findings with lines and fix, the picture, the module tree, the placement table."""
    page = Page(msgspec.structs.replace(broken, findings=(finding,)).to_html())
    assert not page.open
    for text in (
        "hidden was modified after sigmoid had saved it.",
        "hidden.add_(1.0)",
        "In [4]",
        "train.py:8",
        "Fix: hidden = hidden + 1.0",
        *finding.details,
    ):
        assert text in page.text
    assert {"svg", "details", "summary", "table"} <= set(page.tags)
    assert "encoder.weight" in page.text


def test_an_edit_stands_line_by_line(broken, finding):
    """As a diff, and below it whether it may change more than the fault."""
    patch = "--- a/train.py\n+++ b/train.py\n@@ -1,2 +1,2 @@\n a = f(x)\n-a.add_(1)\n+a = a + 1\n"
    told = msgspec.structs.replace(finding, patch=patch, applicability="unsafe")
    text = Page(msgspec.structs.replace(broken, findings=(told,)).to_html()).text
    assert " a = f(x)\n-a.add_(1)\n+a = a + 1\n" in text
    assert "unsafe edit" in text
    told = msgspec.structs.replace(told, applicability="safe")
    assert "unsafe edit" not in Page(msgspec.structs.replace(broken, findings=(told,)).to_html()).text


def test_where_there_is_no_edit_the_page_says_why(broken, finding):
    """And what a trial showed, where there was one; of an info nothing."""
    told = msgspec.structs.replace(finding, edits=(), unedited=Unedited("library", "torch/x.py"), verified="cured")
    text = Page(msgspec.structs.replace(broken, findings=(told,)).to_html()).text
    assert "No edit: the line is in a library (torch/x.py)." in text
    assert "Edit tried: cured." in text
    told = msgspec.structs.replace(told, severity="info")
    assert "No edit" not in Page(msgspec.structs.replace(broken, findings=(told,)).to_html()).text


def test_code_in_sentences_is_code(broken, finding):
    """No backtick is shown: what stands between two of them is an element; a lone one stays as it is."""
    told = msgspec.structs.replace(finding, fix="Use `a < b`, or `c", details=("`add_` moved it.",))
    text = msgspec.structs.replace(broken, findings=(told,)).to_html()
    assert "<code>hidden</code> was modified" in text
    assert "<code>add_</code> moved it." in text
    assert "Use <code>a &lt; b</code>, or `c" in text


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_the_mark_of_a_cut_is_as_bad_as_its_finding(detached, severity):
    """The tree shows the cut of a warning in the colour of warnings, and only that of an error in red."""
    (cut,) = [edge for edge in detached.graph.severed if edge.live]
    found = Finding("AG101", "detached", severity, "It is cut.", locations=(detached.capture.place(cut.site),))
    text = msgspec.structs.replace(detached, findings=(found,)).to_html()
    assert f'<li class="ags-{severity}">cut: detached' in text


def test_the_page_needs_neither_script_nor_network(broken):
    """No script element, no handler, nothing loaded from anywhere, and a policy that forbids it."""
    text = broken.to_html()
    page = Page(text)
    assert not {"script", "iframe", "object", "embed", "link", "img"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "href", "xlink:href"}]
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(" not in text


def test_the_page_follows_the_readers_colour_scheme(broken):
    """Every colour has its twin; the picture follows prefers-color-scheme."""
    text = broken.to_html()
    assert text.count("prefers-color-scheme: dark") == 1
    style = re.sub(r"light-dark\([^)]*\)", "", text[text.index("<style>") : text.index("</style>")])
    assert not re.findall(r"#[0-9a-f]{3,6}\b", style)


def test_the_page_is_written_where_asked(broken, tmp_path):
    """to_html(path) writes the same page that it returns."""
    path = tmp_path / "report.html"
    assert broken.to_html(path) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(name):
    """A name from the program becomes no tag, attribute, control character or direction mark in any view."""
    net = nn.Sequential()
    net.register_module("m" + name.replace(".", ""), nn.Linear(2, 2))
    net.register_module("n" + name.replace(".", ""), nn.Linear(2, 2))
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(1, 2)).detach().mul(net[0].weight).sum().backward()
    place = Location(name, 1, name, source=name, role=name, expression=name[:3])
    finding = Finding("AG101", name, "error", name, name, (place,), (name,), (name,), consequences=(name,))
    report = msgspec.structs.replace(inspection.report, findings=(finding,), notes=(name,))

    page = Page(report.to_html())
    assert not page.open
    assert not {"script", "img"} & set(page.tags)
    assert not [attribute for attribute, _ in page.attributes if attribute.startswith("on")]
    assert page.tags.count("b") == report.to_html().count("<b>")
    for text in (report.to_html(), report.to_text(), report.to_dot(), report.to_svg()):
        assert not re.search("[\0\x1b\x85\u2028\u202e\ufdd0\ufffe\ud800-\udfff]", text)
        text.encode("utf-8")
    assert max(map(len, report.to_text().split("\n"))) <= 100
    assert len(report.to_svg()) < 60_000
    read = autograd_inspector.Report.from_json(report.to_json())
    assert read.findings[0].message == name.encode("utf-8", "backslashreplace").decode()


def test_markup_in_a_name_is_shown_as_it_is_spelled(broken, finding):
    """The reader sees `<b>` where the program says `<b>`."""
    report = msgspec.structs.replace(broken, findings=(msgspec.structs.replace(finding, message="a <b> & 'c'"),))
    assert "a <b> & 'c'" in Page(report.to_html()).text


def test_a_link_leads_to_a_finding(broken, finding):
    """`report.html#AG201-1` is the first finding of the rule, `#AG201-2` the next; no two elements share an id."""
    other = msgspec.structs.replace(finding, rule="AG101")
    report = msgspec.structs.replace(broken, findings=(finding, other, finding))
    ids = [value for name, value in Page(report.to_html()).attributes if name == "id"]
    assert {"AG201-1", "AG101-1", "AG201-2"} <= set(ids)
    assert len(ids) == len(set(ids))


def test_what_stands_between_backticks_is_code():
    """In a sentence; a backtick without its partner stays one, and code is text all the same."""
    assert prose("use `h + 1`, not `<b>`") == "use <code>h + 1</code>, not <code>&lt;b&gt;</code>"
    assert prose("it's `h` and a `") == "it&#x27;s <code>h</code> and a `"
    assert prose("`") == "`"
    assert prose("") == ""


def test_a_link_leads_to_a_finding_of_the_interactive_page(broken, finding, monkeypatch):
    """Where no script follows it, and on paper: each finding has its id, also one that is folded; outputs have none."""
    monkeypatch.setattr("autograd_inspector.views.html.page.asset", lambda name: f"/* {name} */")
    report = msgspec.structs.replace(broken, findings=(finding,) * 9)
    ids = [value for name, value in Page(to_interactive_html(report)).attributes if name == "id"]
    assert {f"AG201-{number}" for number in range(1, 10)} <= set(ids)
    assert len(ids) == len(set(ids))
    assert not [name for name, _ in Page(output_html(report)).attributes if name == "id"]
