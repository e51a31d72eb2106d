"""Export: the files that the browser saves, each read again by what it is for."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import expect

from autograd_inspector import Report

from .shared import READY, watched

pytestmark = pytest.mark.ui
EXPORT = ".agi-menu:has(> summary:text-is('Export'))"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def export(program, tmp_path):
    """Takes the file of a format from the menu."""
    trained = program("trained")

    def exported(form: str) -> Path:
        trained.tab("Graph")
        menu = trained.widget.locator(EXPORT)
        if menu.get_attribute("open") is None:
            menu.locator("summary").click()
        with trained.page.expect_download() as download:
            menu.get_by_role("button", name=form.upper(), exact=True).click()
        assert download.value.suggested_filename == f"autograd.{form}"
        path = tmp_path / f"autograd.{form}"
        download.value.save_as(path)
        expect(trained.widget.locator(".agi-status")).to_have_text(f"exported autograd.{form}")
        return path

    return exported


def test_svg(export):
    """An XML document with a size and the names of the nodes; every colour written out, no script, no address."""
    text = export("svg").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert float(root.get("width")) > 100
    assert float(root.get("height")) > 100
    said = " ".join("".join(element.itertext()) for element in root.iter(f"{SVG}text"))
    for name in ("encoder", "norm", "AdamW.step"):
        assert name in said
    assert "var(" not in text
    assert not re.search(r"<script|javascript:|\son\w+=|<foreignObject|<style", text)
    assert set(re.findall(r"https?://[^\"'\s)]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_png(export):
    """A picture twice as large as on the page, and not of one colour."""
    data = export("png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert 200 < width <= 8000
    assert 200 < height <= 8000
    assert len(data) > 5_000


def test_dot(export):
    """What `dot` draws; a machine without it sees that the text is a digraph."""
    path = export("dot")
    assert path.read_text(encoding="utf-8").lstrip().startswith("digraph")
    if shutil.which("dot"):
        drawn = subprocess.run(["dot", "-Tsvg", str(path)], capture_output=True, check=True, timeout=60)
        assert b"layer_norm" in drawn.stdout or b"norm" in drawn.stdout
        assert b"rror" not in drawn.stderr


def test_json(export):
    """The whole report, as Report.from_json reads it."""
    report = Report.from_json(export("json").read_bytes())
    assert [op.name for op in report.capture.ops][:3] == ["linear", "sigmoid", "layer_norm"]
    assert len(report.placement.rows) == 6


def test_html(browser, export, shots):
    """One page that is interactive from a folder, without any network."""
    path = export("html")
    context = browser.new_context(offline=True, color_scheme="dark")
    page = context.new_page()
    watch = watched(page)
    page.goto(path.as_uri())
    page.wait_for_selector(READY)
    expect(watch.widget.locator("[data-node]").first).to_be_visible()
    expect(watch.widget).to_have_attribute("data-theme", "dark")
    watch.select("layer_norm")
    expect(watch.details).to_contain_text("NativeLayerNormBackward0")
    expect(watch.tab("Optimizer")).to_contain_text("encoder.weight")
    watch.widget.screenshot(path=str(shots / "page-optimizer-dark.png"))
    left = [request for request in watch.requests if not request.startswith(("file:", "data:", "blob:"))]
    assert left == []
    assert watch.complaints == []
    context.close()


def test_the_page_of_html_exports_what_needs_no_python(browser, export, tmp_path):
    """SVG and PNG; the others, which Python makes, are not offered."""
    path = export("html")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(READY)
    menu = page.locator(EXPORT)
    menu.locator("summary").click()
    expect(menu.locator("button")).to_have_text(["SVG", "PNG"])
    with page.expect_download() as download:
        menu.get_by_role("button", name="PNG").click()
    download.value.save_as(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    context.close()


def test_the_keyboard_opens_the_menu_and_closes_it(program):
    """Enter opens it, Escape closes it and gives the focus back."""
    trained = program("trained")
    trained.tab("Graph")
    summary = trained.widget.locator(f"{EXPORT} summary")
    summary.focus()
    trained.page.keyboard.press("Enter")
    expect(trained.widget.get_by_role("button", name="HTML")).to_be_visible()
    trained.page.keyboard.press("Tab")
    expect(trained.widget.get_by_role("button", name="SVG")).to_be_focused()
    trained.page.keyboard.press("Escape")
    expect(trained.widget.get_by_role("button", name="HTML")).to_be_hidden()
    expect(summary).to_be_focused()


def test_nothing_leaves_the_machine(notebook):
    """Every request of the notebook and of its exports went to the server on this machine."""
    elsewhere = [url for url in notebook.requests if not re.match(r"(http|ws)://127\.0\.0\.1:\d+/|blob:|data:", url)]
    assert elsewhere == []
