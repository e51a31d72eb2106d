"""The HTML in a notebook's output: the answer first, whatever a viewer leaves of it."""

from __future__ import annotations

import re

import msgspec
import pytest

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.views.html.output import LARGEST, output_html
from autograd_inspector.views.markup import code

from .test_html import HOSTILE, Page

USUAL = 60_000


def text_of(page: str) -> str:
    """What a viewer shows that keeps no style, no class and no picture: the words in their order."""
    bare = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<script.*?</script>|<img[^>]*>", "", page, flags=re.DOTALL)
    return " ".join(Page(bare).text.split())


def in_order(text: str, *pieces: str) -> bool:
    """Whether each stands in the text, after the one before it."""
    at = 0
    for piece in pieces:
        at = text.find(piece, at) + len(piece)
        if at < len(piece):
            return False
    return True


@pytest.fixture(scope="module")
def shown(broken):
    capture = msgspec.structs.replace(broken.capture, error="RuntimeError: a tensor\n\nwas modified")
    return output_html(msgspec.structs.replace(broken, capture=capture), broken.to_svg())


def test_the_line_then_why_then_the_code_then_the_fix(shown, broken):
    """Severity and rule, the culprit's line, the reason, the lines around it, what to write instead."""
    culprit = broken.findings[0]
    numbered = f"▶ {culprit.locations[0].lineno} hidden.add_(1.0) ← modified here"
    text = text_of(shown)
    why = culprit.message.replace("`", "")
    assert in_order(text, "error AG201", "hidden.add_(1.0)", why, "saved here", numbered, "Fix: ")
    assert culprit.fix.replace("`", "").split("\n")[0] in text


def test_the_rest_takes_a_click(shown):
    """How it happened, the rule's page and torch's own words are folded, and come after the fix."""
    assert re.findall(r"<details[^>]*><summary>([^<]*)", shown) == [
        "How it happened",
        "About AG201",
        "What the program raised",
    ]
    assert in_order(text_of(shown), "Fix: ", "How it happened", "Why it matters", "RuntimeError: a tensor was modified")


def test_a_long_line_may_break_between_names():
    """After a bracket or a comma and before an attribute, never in a name; the text stays what it was."""
    line = 'optimizer.load_state_dict(checkpoint["optimizer_state_dict"])'
    pieces = ["optimizer", ".load_state_dict(", "checkpoint[", "&quot;optimizer_state_dict&quot;])"]
    assert code(line).split("<wbr/>") == pieces
    assert Page(code(line)).text == line


def test_it_needs_nothing_but_itself(shown):
    """No script, no handler, no id, no address but that of the picture inside it."""
    tags = Page(shown)
    assert not tags.open
    assert not {"script", "link", "iframe", "object", "embed", "form"} & set(tags.tags)
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name in {"id", "href", "style"}]
    assert [value[:26] for name, value in tags.attributes if name == "src"] == ["data:image/svg+xml;base64,"]
    assert "url(" not in shown
    assert "@import" not in shown


def test_without_its_address_the_picture_is_a_few_words(shown):
    """A code host takes the address away: what remains has no size, and says what was drawn."""
    [value] = [value for name, value in Page(shown).attributes if name == "alt"]
    assert value.startswith("autograd graph: 7 autograd nodes, ")
    assert not re.search(r"<img[^>]* (?:width|height)=", shown)


def test_no_line_is_too_long_for_what_reads_line_by_line(shown):
    """Docutils refuses a text with a line of more than 10,000 characters."""
    assert max(map(len, shown.split("\n"))) < 8_000


def test_no_line_is_blank(shown, broken, finding):
    """In Markdown a blank line would end the HTML: the rest would be shown as it is spelled."""
    gaps = msgspec.structs.replace(finding, message="one\n\ntwo", fix="one\n\ntwo")
    other = msgspec.structs.replace(broken, findings=(gaps,))
    for text in (shown, output_html(other)):
        assert not re.search(r"\n\s*\n", text.strip())


def test_every_rule_of_the_style_stays_inside(shown):
    """A notebook has one document: a selector that begins elsewhere would restyle the notebook."""
    style = re.search(r"<style>(.*)</style>", shown)[1]
    bare = re.sub(r"@keyframes ags-\w+\{(?:[^{}]*\{[^{}]*\})*\s*\}", "", style)
    bare = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", bare)
    heads = re.findall(r"([^{}]+)\{[^{}]*\}", bare)
    assert len(heads) > 20
    assert not [head for head in heads for one in re.split(r",(?![^(]*\))", head) if ".agi-static" not in one]


def test_most_severe_first_and_only_the_first_are_open(broken, finding):
    """Of many findings the later ones are folded to severity, rule and line; without room they are counted."""
    many = tuple(msgspec.structs.replace(finding, rule=f"AG{number}") for number in range(101, 113))
    text = output_html(msgspec.structs.replace(broken, findings=many))
    assert text.count("<section") == 6
    assert in_order(text_of(text), *[finding.rule for finding in many])
    assert text.count('<summary class="ags-title">') == 6
    long = tuple(msgspec.structs.replace(finding, message="x" * 3000) for _ in range(200))
    assert re.search(
        r"… and \d+ findings more: report.findings has all",
        text_of(output_html(msgspec.structs.replace(broken, findings=long))),
    )


def test_a_usual_report_is_small_and_a_hostile_one_bounded(shown, broken, finding):
    """A finding with its picture takes at most 60 kB; whatever a program is called, the whole stays below the limit."""
    assert len(shown) < USUAL
    name = "x<&" * 5000
    places = tuple(Location(name, number, name, source=name, role=name, expression=name) for number in range(60))
    worst = Finding("AG101", name, "error", name, name, places, (name,) * 99, (name,) * 99, consequences=(name,) * 99)
    for svg in ("", "<svg>" + "x" * LARGEST + "</svg>"):
        report = msgspec.structs.replace(broken, findings=(worst,) * 50, notes=(name,) * 99)
        assert len(output_html(report, svg)) <= LARGEST


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(broken, name):
    """Whatever the program calls things: no tag, attribute, control character or direction mark of theirs."""
    place = Location(name, 1, name, source=name, role=name, expression=name[:3])
    hostile = Finding("AG101", name, "error", name, name, (place,), (name,), (name,), consequences=(name,))
    capture = msgspec.structs.replace(broken.capture, error=f"{name}\n{name}")
    report = msgspec.structs.replace(broken, capture=capture, findings=(hostile,) * 8, notes=(name,))
    text = output_html(report)
    tags = Page(text)
    assert not tags.open
    assert not {"script", "img", "b"} & set(tags.tags)
    assert not [attribute for attribute, _ in tags.attributes if attribute.startswith("on")]
    assert not re.search("[\0\x1b\u202e\ud800-\udfff]", text)


def test_a_healthy_report_says_so(deep):
    """No finding: the first line says that, and the picture follows."""
    text = output_html(deep, deep.to_svg())
    assert text_of(text).startswith("autograd inspector no findings")
    assert "<section" not in text
    assert "<img" in text
