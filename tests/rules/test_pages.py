"""Every rule's page holds an example that the rule finds, and a fix that it is silent about."""

from __future__ import annotations

import copy
import linecache
import textwrap

import pytest
import schedulefree
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.rules import CATALOGUE

SECTIONS = ("Why it matters", "Example", "Fix", "References")
INFOS = {"AG705"}
"""They never say more than that something is worth seeing."""
RAISING = {
    "AG103",
    "AG106",
    "AG110",
    "AG201",
    "AG203",
    "AG401",
    "AG402",
    "AG403",
    "AG409",
    "AG410",
    "AG414",
    "AG415",
    "AG501",
    "AG503",
    "AG504",
}
"""Rules whose example raises."""


ALONE = sorted(code for code in CATALOGUE if not code.startswith("AG6"))
"""Rules of which one process shows the example; the others need ranks: tests/distributed/test_pages.py."""


def block(page: str, section: str) -> str:
    """The code under a section of a page."""
    after = page.split(f"\n{section}\n", 1)[1]
    lines = []
    for line in after.split("\n"):
        if line and not line.startswith(" "):
            break
        lines.append(line)
    code = textwrap.dedent("\n".join(lines)).replace("::\n", "", 1)
    return textwrap.dedent(code).strip("\n") + "\n"


def prelude(code: str) -> dict[str, object]:
    """The names that the examples use: a small network, its parts, data, an optimizer."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
    first, second = nn.Linear(4, 2, bias=False), nn.Linear(4, 2, bias=False)
    names: dict[str, object] = {
        "torch": torch,
        "nn": nn,
        "copy": copy,
        "schedulefree": schedulefree,
        "net": net,
        "encoder": encoder,
        "head": head,
        "first": first,
        "second": second,
        "x": torch.randn(3, 4),
        "w": torch.randn(3, 1, requires_grad=True),
        "features": torch.randn(3, 4),
        "policy": nn.Linear(4, 5),
        "values": nn.Embedding(5, 3),
        "i": torch.tensor([1, 2]),
    }
    groups = {
        "AG104": [*names["policy"].parameters(), *names["values"].parameters()],
        "AG101": [*encoder.parameters(), *head.parameters()],
        "AG102": [*encoder.parameters(), *head.parameters()],
        "AG306": [*first.parameters(), *second.parameters()],
    }
    names["optimizer"] = torch.optim.SGD(groups.get(code, list(net.parameters())), lr=0.1)
    names["y"] = torch.cat([names["x"][:1], torch.randn(2, 4)])
    if code == "AG403":
        names["net"] = net = nn.Linear(4, 2)
    if code in {"AG401", "AG402", "AG403"}:
        names["optimizer"] = trained = torch.optim.Adam(net.parameters())
        net(names["x"]).pow(2).mean().backward()
        trained.step()
        names["checkpoint"] = copy.deepcopy(trained.state_dict())
    if code == "AG407":
        names |= {"embedding": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)}
    if code == "AG408":
        names["net"] = nn.Linear(4, 2)
        names["optimizer"] = schedulefree.AdamWScheduleFree(names["net"].parameters())
        names["optimizer"].train()
        names["loss"] = names["net"](names["x"]).pow(2).mean()
    if code == "AG302":
        names["x"] = torch.randn(5, 3)
    return names


def findings(code: str, section: str) -> tuple[list[str], str]:
    """(the rule codes of errors, warnings and ``INFOS``, what was raised) when the section's code runs."""
    source = block(CATALOGUE[code].page, section)
    filename = f"<{code} {section}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = prelude(code)
    raised = ""
    inspection = autograd_inspector.inspect(values=code in {"AG303", "AG304"} or code.startswith("AG7"))
    try:
        with inspection:
            exec(compile(source, filename, "exec"), names)
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
    return [f.rule for f in inspection.report.findings if f.severity != "info" or f.rule in INFOS], raised


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_page_has_the_fixed_form(code):
    """A page says what it detects in its first line, then why, an example, the fix and references, in this order."""
    page = CATALOGUE[code].page
    places = [page.find(f"\n{section}\n") for section in SECTIONS]
    assert CATALOGUE[code].summary.endswith((".", "`."))
    assert all(place > 0 for place in places)
    assert places == sorted(places)


@pytest.mark.parametrize("code", ALONE)
def test_example_is_found(code, monkeypatch):
    """The rule reports its own page's example, which raises only where the page's fault raises."""
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")
    found, raised = findings(code, "Example")
    assert code in found, (found, raised)
    assert bool(raised) == (code in RAISING), raised


@pytest.mark.parametrize("code", ALONE)
def test_fix_is_silent(code, monkeypatch):
    """The page's fix runs, and nothing is reported about it."""
    monkeypatch.setenv("AUTOGRAD_INSPECTOR_STRICT", "1")
    assert findings(code, "Fix") == ([], "")
