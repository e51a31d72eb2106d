"""How a finding looks where no script runs: in a saved notebook's output and on the static pages.

The order alone tells it, for many viewers drop style sheets: the line that did it, why, the lines around it, the fix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.long_lines import LONGEST, cut_around
from autograd_inspector.model.rule_page import RulePage, Section
from autograd_inspector.model.wording import join_names
from autograd_inspector.views.display_text import UNSAFE, shown, tried_text, unedited_text
from autograd_inspector.views.html.excerpts import code_block, lines_of
from autograd_inspector.views.markup import LINE_BREAK, LINE_END, Markup, code, element, prose, together

_EXCERPTS = 4
_SENTENCES = 12
_SENTENCE = 600
_LONGEST = 2000
_NAMES = 12
_CHANGES = 24
_NAME = 80
_LONGEST_LINE = LONGEST + 1
SIGNS = {"error": "✕", "warning": "▲", "info": "●"}
"""Severity by shape, for who sees no colour."""


def pages_of(pages: Sequence[RulePage]) -> dict[str, RulePage]:
    """Rule -> its page."""
    return {page.rule: page for page in pages}


def anchors_of(findings: Iterable[Finding]) -> list[str]:
    """``AG201-1`` for the first finding of a rule, ``AG201-2`` for the next."""
    counts: dict[str, int] = {}
    anchors = []
    for finding in findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + 1
        anchors.append(f"{finding.rule}-{counts[finding.rule]}")
    return anchors


def finding_section(
    finding: Finding, pages: Mapping[str, RulePage] | None = None, *, anchor: str = "", heading: str = "p"
) -> Markup:
    """Everything about one finding; ``anchor`` is where a link leads, ``heading`` the tag of its title."""
    parts = [element(heading, title(finding), class_="ags-title"), *_body(finding, pages or {})]
    return element("section", *_in_lines(parts), **_attributes(finding, anchor))


def folded_section(finding: Finding, pages: Mapping[str, RulePage], *, anchor: str = "") -> Markup:
    """The same, opened by a click; closed, it still names the line."""
    line = [" ", element("code", _culprit_line(finding.locations[0]))] if finding.locations else []
    summary = element("summary", title(finding), *line, class_="ags-title")
    return element("details", *_in_lines([summary, *_body(finding, pages)]), **_attributes(finding, anchor))


def brief_section(finding: Finding, *, anchor: str = "") -> Markup:
    """The line, why and the fix alone."""
    parts = [element("p", title(finding), class_="ags-title"), *_answer(finding), *_fix(finding)]
    return element("section", *_in_lines(parts), **_attributes(finding, anchor))


def _in_lines(parts: Iterable[Markup]) -> Iterator[Markup]:
    """Each on a line of its own: what reads a page line by line is not made for a line of a whole finding."""
    for part in parts:
        yield part
        yield LINE_END


def _attributes(finding: Finding, anchor: str) -> dict[str, str]:
    return {"class_": f"ags-finding ags-{finding.severity}", **({"id": anchor} if anchor else {})}


def title(finding: Finding) -> Markup:
    """``✕ error AG201 saved-tensor-modified · In [2], line 8``."""
    severity = element("strong", f"{SIGNS[finding.severity]} {finding.severity}", class_="ags-severity")
    rule = element("strong", finding.rule, class_="ags-rule")
    place = f" · {shown(finding.locations[0].place)}" if finding.locations else ""
    return together(
        severity, " ", rule, " ", element("span", f"{shown(finding.name, _NAME)}{place}", class_="ags-quiet")
    )


def _body(finding: Finding, pages: Mapping[str, RulePage]) -> Iterator[Markup]:
    yield from _answer(finding)
    excerpts = [excerpt for excerpt in finding.code[:_EXCERPTS] if excerpt.lines]
    for excerpt in excerpts:
        if len(excerpts) > 1:
            yield element("p", excerpt.title, class_="ags-where ags-quiet")
        yield code_block(excerpt)
    yield from _fix(finding)
    yield from _more(finding)
    if finding.rule in pages:
        yield _about(pages[finding.rule])


def _answer(finding: Finding) -> Iterator[Markup]:
    if finding.locations:
        yield element("pre", element("strong", code(_culprit_line(finding.locations[0]))), class_="ags-headline")
    yield element("p", prose(shown(finding.message, _LONGEST)), class_="ags-message")


def _fix(finding: Finding) -> Iterator[Markup]:
    if finding.fix:
        yield element("p", element("strong", "Fix:"), " ", _paragraphs(finding.fix), class_="ags-fix")
    if finding.changes:
        yield element("pre", *_changes(finding), class_="ags-patch")
        if finding.applicability == "unsafe":
            yield element("p", f"{UNSAFE}.", class_="ags-quiet")
    if finding.verified:
        yield element("p", f"Edit {tried_text(finding)}.", class_="ags-quiet")
    if unedited_text(finding):
        yield element("p", prose(shown(f"No edit: {unedited_text(finding)}.", _SENTENCE)), class_="ags-quiet")


def _changes(finding: Finding) -> Iterator[Markup]:
    """Lines that begin with their sign: it tells where no style sheet does."""
    for line in finding.changes[:_CHANGES]:
        tag = {"-": "del", "+": "ins"}.get(line[:1], "span")
        yield together(element(tag, code(shown(line, _LONGEST_LINE))), LINE_END)


def _paragraphs(text: str) -> Markup:
    """Sentences line by line: a line break is the one control character that a fix may keep."""
    first, *others = [prose(shown(line, _LONGEST)) for line in text.strip()[: 2 * _LONGEST].split("\n")]
    return together(first, *[piece for line in others for piece in (LINE_BREAK, line)])


def _culprit_line(culprit: Location) -> str:
    source = cut_around(culprit.source.strip(), culprit.expression)
    return shown(source or f"(in {culprit.function})", _LONGEST_LINE)


def _more(finding: Finding) -> Iterator[Markup]:
    """How it came about, whom it concerns, what follows."""
    sentences = [prose(shown(text, _SENTENCE)) for text in finding.details[:_SENTENCES]]
    if not finding.names_all:
        sentences.append(together(f"Concerns: {join_names((shown(name, _NAME) for name in finding.subjects), _NAMES)}"))
    sentences += [
        together("Follows from it: ", prose(shown(text, _SENTENCE))) for text in finding.consequences[:_SENTENCES]
    ]
    if sentences:
        items = element("ul", *[element("li", sentence) for sentence in sentences])
        yield element("details", element("summary", "How it happened"), items, class_="ags-more")


def _about(page: RulePage) -> Markup:
    sections = (_section(section) for section in page.sections)
    return element("details", element("summary", f"About {page.rule}"), *sections, class_="ags-more ags-about")


def _section(section: Section) -> Markup:
    heading = [element("p", element("strong", section.title))] if section.title else []
    if not section.code:
        return together(*heading, element("p", prose(shown(section.text, _LONGEST))))
    return together(*heading, lines_of(section.text, "ags-example"))
