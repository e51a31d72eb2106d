"""Findings: the story in steps, the lines, the fix, and the way to the nodes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui
FOCUSED = "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"


@pytest.fixture
def spoiled(program):
    return program("spoiled")


@pytest.fixture
def card(spoiled):
    return spoiled.tab("Findings").get_by_role("group", name="AG201 saved-tensor-modified")


def test_a_finding_says_what_and_why(card):
    """Severity, rule, name and culprit on one line; opened, a sentence, then what saved it and what backward found."""
    expect(card.locator("> summary .agi-severity")).to_have_text("error")
    expect(card.locator("> summary")).to_contain_text("hidden.add_(1.0)")
    expect(card.locator("> summary")).to_contain_text("In [3], line 4")
    expect(card.locator(".agi-message")).to_contain_text("saved for backward by layer_norm")
    expect(card.locator(".agi-steps > li").first).to_be_visible()


def test_the_lines_stand_in_one_block_of_code(card):
    """By the gutter's numbers, with lines around them; beside each what happened there, and one is the culprit."""
    rows = card.locator(".agi-excerpt-lines > li:not(.agi-gap)")
    told = {row.locator(".agi-source").inner_text(): row for row in rows.all()}
    for source, role in (
        ("out = net.head(net.norm(hidden))", "saved here"),
        ("hidden.add_(1.0)", "modified here"),
        ("    out.sum().backward()", "needed here"),
    ):
        expect(told[source].locator(".agi-role")).to_have_text(role)
    assert [int(row.locator(".agi-goto").inner_text()) for row in rows.all()] == [2, 3, 4, 5, 6]
    expect(card.locator(".agi-culprit .agi-source")).to_have_text("hidden.add_(1.0)")
    expect(told["out = net.head(net.norm(hidden))"].locator("mark")).to_have_text("net.norm(hidden)")


def test_the_fix_is_copied(spoiled, card):
    """As it was written, into the clipboard; the button says so, for a while."""
    copy = card.get_by_role("button", name="Copy the fix")
    copy.click()
    expect(copy).to_have_text("Copied")
    copied = spoiled.page.evaluate("() => navigator.clipboard.readText()")
    assert copied.split("`")[1::2] == ["add", "add_", "hidden.clone()"]
    expect(copy).to_have_text("Copy")


def test_code_in_a_sentence_is_code(card):
    """Backticks are no part of what a reader sees."""
    expect(card.locator(".agi-fix-text code").first).to_have_text("add")
    expect(card).not_to_contain_text("`")


def test_a_finding_focuses_its_nodes(spoiled, card):
    """Who saved it and who modified it, in the graph; back in Findings the row of the selection is marked."""
    card.get_by_role("button", name="Show in graph").click()
    expect(spoiled.widget.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    pressed = spoiled.widget.locator("[data-node][aria-pressed='true']")
    expect(pressed).to_have_count(2)
    labels = [node.get_attribute("aria-label") for node in pressed.all()]
    assert {name for name in ("add_", "layer_norm") for label in labels if name in label} == {"add_", "layer_norm"}
    expect(spoiled.details.get_by_role("heading", level=3)).to_have_text("Where it happened")
    spoiled.tab("Findings")
    expect(card).to_have_class(re.compile("agi-selected"))


def test_the_header_counts_findings_and_leads_to_them(program):
    """By severity; a program without any says that too."""
    misplaced = program("misplaced")
    misplaced.tab("Graph")
    misplaced.widget.get_by_role("button", name="1 error").click()
    rows = misplaced.widget.locator(".agi-finding")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("AG401")
    expect(rows.first).to_have_attribute("open", "")
    rows.last.locator("> summary").click()
    expect(misplaced.widget.locator(".agi-answer")).to_contain_text(rows.last.locator(".agi-rule").inner_text())
    misplaced.widget.get_by_role("button", name="Previous finding").click()
    expect(misplaced.widget.locator(".agi-answer")).to_contain_text("AG401")
    trained = program("trained")
    expect(trained.widget.locator(".agi-header")).to_contain_text("no findings")
    expect(trained.tab("Findings")).to_contain_text("No findings")


def test_the_keyboard_reaches_every_action(spoiled, card):
    """From the tab on: the keys, the row, each of its lines, the rule's page, and every button; Enter acts."""
    spoiled.widget.get_by_role("tab", name="Findings").focus()
    press = spoiled.page.keyboard.press
    met = []
    for _ in range(20):
        press("Tab")
        focused = spoiled.page.evaluate(
            "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        )
        met.append(focused)
        if focused == "Copy the finding":
            break
    for what in ("Keys", "Go to In [3], line 4", "Copy the fix", "About AG201", "Show in graph", "Copy the place"):
        assert any(name.startswith(what) for name in met), (what, met)
    press("Enter")
    expect(card.get_by_role("button", name="Copy the finding")).to_have_text("Copied")


def test_keys_pressed_in_the_widget_are_no_shortcuts_of_the_notebook(spoiled):
    """In JupyterLab "d d" deletes the cell, and "a" puts one above it."""
    cells = spoiled.page.locator(".jp-Cell")
    count = cells.count()
    spoiled.widget.get_by_role("tab", name="Findings").focus()
    for key in "dda":
        spoiled.page.keyboard.press(key)
    spoiled.tab("Timeline")
    expect(cells).to_have_count(count)
