"""The five stories in a real JupyterLab: the widget is there although the cell failed, and its finding leads on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.stories.catalogue import STORIES

from .lab import RUN, in_dark, in_light, opened

pytestmark = pytest.mark.ui
FIRST = {story.number: story for story in reversed(STORIES)}
"""The first program of each story."""
READY = ".autograd-inspector[data-state='ready']"


@pytest.mark.parametrize("number", sorted(FIRST))
def test_story(page, lab, shots, number):
    """Run all cells: the widget is ready, the finding names its rule, the graph shows its nodes; both themes."""
    story = FIRST[number]
    find = f"from tests.stories.catalogue import STORIES\n[story] = [s for s in STORIES if s.slug == {story.slug!r}]"
    cells = (f"%load_ext autograd_inspector\n{find}", "%%autograd_inspect\nstory.broken()")
    opened(page, lab.notebook(f"story-{number}.ipynb", *cells))
    page.wait_for_selector(READY, timeout=2 * RUN)
    widget = page.locator(READY).first
    if story.raises:
        expect(page.locator(".jp-OutputArea")).to_contain_text([story.raises.split(":")[0]])
    widget.get_by_role("tab", name=re.compile("Findings")).click()
    panel = widget.get_by_role("tabpanel", name=re.compile("Findings"))
    told = "|".join(story.rules)
    expect(panel).to_contain_text(re.compile(told))
    for theme, switched in (("light", in_light), ("dark", in_dark)):
        switched(page)
        expect(widget).to_have_attribute("data-theme", theme)
        widget.screenshot(path=str(shots / f"story-{number}-findings-{theme}.png"))
    show = panel.get_by_role("button", name=re.compile(f"Show in graph: ({told})"))
    if show.count():  # A finding about an optimizer's state has no place in the graph.
        show.first.click()
        expect(widget.locator("[data-node][aria-pressed='true']").first).to_be_visible()
    widget.get_by_role("tab", name="Graph").click()
    widget.screenshot(path=str(shots / f"story-{number}-graph-dark.png"))
