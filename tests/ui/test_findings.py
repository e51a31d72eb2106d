"""Findings: the story in steps, the lines, the fix, and the way to the nodes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.ui


@pytest.fixture
def spoiled(program):
    return program("spoiled")


@pytest.fixture
def card(spoiled):
    return spoiled.tab("Findings").get_by_role("article", name="AG201 saved-tensor-modified")


def test_a_finding_says_what_and_why_in_steps(card):
    """Severity, rule and name, one sentence, then what saved it, what moved it and what backward found."""
    expect(card.locator(".agi-severity")).to_have_text("error")
    expect(card.locator(".agi-message")).to_contain_text("saved for backward by layer_norm")
    steps = card.locator(".agi-steps > li").all_inner_texts()
    assert [re.search(r"saved|moved|found", step)[0] for step in steps] == ["saved", "moved", "found"]


def test_the_lines_stand_in_the_order_in_which_they_ran(card):
    """Saved here, modified here, needed here: each with its place and its source."""
    scenes = card.locator(".agi-story > li")
    told = [scene.inner_text().split("\n") for scene in scenes.all()]
    roles, places, sources = zip(*[[part for part in parts if part] for parts in told], strict=True)
    assert roles == ("saved here", "modified here", "needed here")
    assert places == ("In [3], line 3", "In [3], line 4", "In [3], line 6")
    assert sources == ("out = net.head(net.norm(hidden))", "hidden.add_(1.0)", "out.sum().backward()")
    expect(scenes.first.locator("mark")).to_have_text("net.norm(hidden)")


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
    """Who saved it and who modified it, in the graph; back in Findings the card of the selection is marked."""
    card.get_by_role("button", name="Show in graph").click()
    expect(spoiled.widget.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    pressed = spoiled.widget.locator("[data-node][aria-pressed='true']")
    expect(pressed).to_have_count(2)
    labels = [node.get_attribute("aria-label") for node in pressed.all()]
    assert {name for name in ("add_", "layer_norm") for label in labels if name in label} == {"add_", "layer_norm"}
    expect(spoiled.details.get_by_role("heading", level=3)).to_have_text("2 nodes")
    spoiled.tab("Findings")
    expect(card).to_have_class(re.compile("agi-selected"))


def test_the_header_counts_findings_and_leads_to_them(program):
    """By severity; a program without any says that too."""
    misplaced = program("misplaced")
    misplaced.tab("Graph")
    misplaced.widget.get_by_role("button", name="1 error").click()
    cards = misplaced.widget.get_by_role("article")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("AG401")
    trained = program("trained")
    expect(trained.widget.locator(".agi-header")).to_contain_text("no findings")
    expect(trained.tab("Findings")).to_contain_text("No findings")


def test_the_keyboard_reaches_every_action(spoiled, card):
    """From the tab on: the panel, Show in graph, each line of the story, Copy; Enter acts."""
    spoiled.widget.get_by_role("tab", name="Findings").focus()
    press = spoiled.page.keyboard.press
    press("Tab")
    expect(spoiled.widget.get_by_role("tabpanel", name="Findings")).to_be_focused()
    press("Tab")
    expect(card.get_by_role("button", name="Show in graph")).to_be_focused()
    for line in card.locator(".agi-story > li > .agi-scene").get_by_role("button", name="Go to").all():
        press("Tab")
        expect(line).to_be_focused()
        if card.locator("li", has=line).locator("summary").count():
            press("Tab")
    press("Tab")
    expect(card.get_by_role("button", name="Copy the fix")).to_be_focused()
    press("Enter")
    expect(card.get_by_role("button", name="Copy the fix")).to_have_text("Copied")


def test_keys_pressed_in_the_widget_are_no_shortcuts_of_the_notebook(spoiled):
    """In JupyterLab "d d" deletes the cell, and "a" puts one above it."""
    cells = spoiled.page.locator(".jp-Cell")
    count = cells.count()
    spoiled.widget.get_by_role("tab", name="Findings").focus()
    for key in "dda":
        spoiled.page.keyboard.press(key)
    spoiled.tab("Timeline")
    expect(cells).to_have_count(count)
