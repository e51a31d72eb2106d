from __future__ import annotations

import json

import msgspec
import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.views import wire
from autograd_inspector.views.notebook.bundle import HTML, bundle_of, chosen
from autograd_inspector.views.notebook.condensed import condensed
from autograd_inspector.views.notebook.saved import CAPTURE, LARGEST, saved


def train(blocks: int, *, name: str = "block", forget: bool = False):
    """Some blocks trained for a step; ``forget``: the program edits what each of them saved."""
    net = nn.ModuleDict({f"{name}{n}": nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()) for n in range(blocks)})
    optimizer = torch.optim.AdamW(net.parameters())
    with autograd_inspector.inspect() as inspection:
        x = torch.ones(2, 4)
        for block in net.values():
            x = block(x)
            if forget:
                x.add_(1)
        loss = x.sum()
        if not forget:
            loss.backward()
            optimizer.step()
    return inspection.report


def read(document) -> wire.Wire:
    return msgspec.convert(json.loads(json.dumps(document)), wire.Wire)


def test_a_small_report_is_kept_whole():
    """Every node, edge, op and parameter."""
    report = train(4)
    kept = read(saved(report))
    assert not kept.head.short
    assert len(kept.nodes.kind) == len(report.graph.nodes)
    assert len(kept.ops.name) == len(report.capture.ops)
    assert len(kept.parameters.name) == len(report.placement.rows)


NAMES = {"plain": "block", "long": "x" * 3000 + "_", "hostile": "</script>\u202e\0\U0001f600" * 40}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_large_report_is_kept_in_short(name):
    """At most 200 kB whatever the names; the header and the sums are those of the whole."""
    report = train(300, name=name)
    document = saved(report)
    kept = read(document)
    assert len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) <= LARGEST
    assert kept.head.short
    assert kept.head.ops == len(report.capture.ops)
    assert kept.by_device[0].parameters == 300 * (16 + 4) * 4


def test_the_short_form_has_only_what_it_names():
    """Every index points into the short tables: tensors, sites, calls, nodes."""
    kept = read(saved(train(300, forget=True)))
    nodes, tensors, sites, calls = (
        len(kept.nodes.kind),
        len(kept.tensors.kind),
        len(kept.sites.user),
        len(kept.calls.path),
    )
    assert 1 < nodes <= 60
    assert all(-1 <= number < tensors for number in (*kept.nodes.tensor, *kept.saved.tensor, *kept.parameters.tensor))
    assert all(-1 <= number < sites for number in (*kept.nodes.site, *kept.edges.site, *kept.calls.site))
    assert all(-1 <= number < calls for number in kept.nodes.call)
    assert all(parent < number for number, parent in enumerate(kept.calls.parent))
    assert all(0 <= number < nodes for number in (*kept.edges.source, *kept.edges.target))
    assert all(0 <= number < nodes for story in kept.findings for number in story.nodes)


def test_the_short_form_says_where_an_optimizer_was_made():
    """The header of the short form names the line, as that of the whole does, for an optimizer made in the capture."""
    net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(300)))
    with autograd_inspector.inspect() as inspection:
        optimizer = torch.optim.AdamW(net.parameters())
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    report = inspection.report
    [made] = report.placement.optimizers
    place = report.capture.place(made.site)
    small = condensed(report, rows=5)
    assert small.capture.place(small.placement.optimizers[0].site) == place
    kept = read(saved(report))
    assert kept.head.short
    assert kept.optimizers[0].place == place.place


def test_findings_keep_their_place_in_the_short_graph():
    """A finding about an op is about the box that stands for the op, and its modified tensor is marked there."""
    report = train(300, forget=True)
    assert "AG201" in {finding.rule for finding in report.findings}
    kept = read(saved(report))
    story = next(story for story in kept.findings if story.rule == "AG201")
    assert story.nodes
    assert story.places
    statuses = {kept.strings[status] for status in kept.saved.status}
    assert statuses == {"modified"}


def test_fewer_rows_of_each_table():
    """`rows` bounds what grows with the program."""
    small = condensed(train(60, forget=True), rows=5)
    assert len(small.placement.rows) == 5
    assert len(small.findings) <= 5
    assert all(len(finding.subjects) <= 5 for finding in small.findings)


def test_the_same_program_leaves_the_same_bundle():
    """nbval compares outputs: no duration, address or random id stands in them."""
    one, two = (bundle_of(train(6)) for _ in range(2))
    assert one == two


def test_the_bundle_has_a_form_for_every_viewer():
    """Text that says all, HTML with the picture in it, the capture; no bare picture, which says less."""
    bundle = bundle_of(train(3))
    assert set(bundle) == {"text/plain", HTML, CAPTURE}
    assert '<img src="data:image/svg+xml;base64,' in bundle[HTML]


def test_without_graphviz_there_is_no_picture(monkeypatch):
    """Nothing else is lost."""
    monkeypatch.setenv("PATH", "")
    bundle = bundle_of(train(3))
    assert set(bundle) == {"text/plain", HTML, CAPTURE}
    assert "<img" not in bundle[HTML]


def test_only_what_ipython_asks_for():
    """`include` and `exclude` of IPython's display protocol."""
    bundle = {"text/plain": "a", CAPTURE: {}}
    assert set(chosen(bundle, {"text/plain"}, None)) == {"text/plain"}
    assert set(chosen(bundle, None, {"text/plain"})) == {CAPTURE}
    assert set(chosen(bundle, None, None)) == set(bundle)
