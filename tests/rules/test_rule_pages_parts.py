"""A rule's page taken apart, for views that show it."""

from __future__ import annotations

import pytest

from autograd_inspector.model.rule_page import page_of
from autograd_inspector.rules import CATALOGUE


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_page_has_its_sections(code):
    """A summary without a title, then why, an example, a fix, references: the two in the middle are code."""
    page = page_of(code, CATALOGUE[code].page)
    assert [section.title for section in page.sections] == ["", "Why it matters", "Example", "Fix", "References"]
    assert [section.code for section in page.sections] == [False, False, True, True, False]
    assert page.sections[0].text == CATALOGUE[code].summary
    assert all(section.text and "::" not in section.text.split("\n")[0] for section in page.sections)
