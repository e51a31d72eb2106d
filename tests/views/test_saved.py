from __future__ import annotations

import re

import msgspec
import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output
from torch import nn

import autograd_inspector
from autograd_inspector.views import encoding, wire
from autograd_inspector.views.notebook import saved as notebook_file
from autograd_inspector.views.notebook.bundle import HTML, bundle_of, chosen
from autograd_inspector.views.notebook.condensed import condensed
from autograd_inspector.views.notebook.saved import CAPTURE, LARGEST, opened, saved
from autograd_inspector.views.text.kept import LONGEST


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
    return msgspec.convert(opened(document)[0], wire.Wire)


def in_file(document, path) -> int:
    """Bytes that it adds to a notebook, as nbformat writes it."""

    def size(data):
        output = new_output("display_data", data=data)
        notebook = new_notebook(cells=[new_code_cell("", outputs=[output], id="one")])
        nbformat.validate(notebook)
        nbformat.write(notebook, path)
        assert nbformat.read(path, as_version=4).cells[0].outputs[0].data == data
        return path.stat().st_size

    return size({CAPTURE: document}) - size({})


@pytest.fixture
def in_short(monkeypatch):
    """No report is kept whole."""
    monkeypatch.setattr(notebook_file, "WHOLE", 0)


def test_a_small_report_is_kept_whole():
    """Every node, edge, op and parameter."""
    report = train(4)
    kept = read(saved(report))
    assert not kept.head.short
    assert len(kept.nodes.kind) == len(report.graph.nodes)
    assert len(kept.ops.name) == len(report.capture.ops)
    assert len(kept.parameters.name) == len(report.placement.rows)


NAMES = {"plain": "block", "long": "x" * 3000 + "_", "hostile": "</script>\u202e\0\U0001f600" * 40}


@pytest.mark.usefixtures("in_short")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_large_report_is_kept_in_short(name, tmp_path):
    """At most 200 kB of the file whatever the names; the header and the sums are those of the whole."""
    report = train(300, name=name)
    document = saved(report)
    kept = read(document)
    assert in_file(document, tmp_path / "kept.ipynb") <= LARGEST
    assert kept.head.short
    assert kept.head.ops == len(report.capture.ops)
    assert kept.by_device[0].parameters == 300 * (16 + 4) * 4


def test_a_capture_takes_less_of_the_file_than_its_json(tmp_path):
    """One string, not a line a number: it is kept whole in a fifth of the bytes that are sent."""
    report = train(150)
    document = saved(report)
    text, _ = encoding.encoded(report)
    assert not read(document).head.short
    assert in_file(document, tmp_path / "kept.ipynb") < len(text) / 5


def test_the_columns_of_a_large_capture_are_kept_as_they_are_sent(monkeypatch):
    """The buffer stands behind the JSON; both are those of the wire, but for the duration."""
    monkeypatch.setattr(encoding, "LARGE", 0)
    report = train(4)
    text, buffer = encoding.encoded(report)
    kept, kept_buffer = opened(saved(report))
    sent = msgspec.json.decode(text)
    assert buffer
    assert kept_buffer == buffer
    assert kept.pop("head") == sent.pop("head") | {"seconds": 0.0}
    assert kept == sent


def test_what_an_earlier_release_saved_is_opened():
    """There the document was the wire itself."""
    document = msgspec.to_builtins(encoding.record_of(train(2)))
    assert opened(document) == (document, b"")


@pytest.mark.usefixtures("in_short")
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


@pytest.mark.usefixtures("in_short")
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


@pytest.mark.usefixtures("in_short")
def test_findings_keep_their_place_in_the_short_graph():
    """A finding about an op is about the box that stands for the op, and its modified tensor is marked there."""
    report = train(300, forget=True)
    assert "AG201" in {finding.rule for finding in report.findings}
    kept = read(saved(report))
    story = next(story for story in kept.findings if story.rule == "AG201")
    assert story.nodes
    assert any(line.culprit for line in story.code[0].lines)
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
    assert opened(one[CAPTURE]) == opened(two[CAPTURE])
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


def test_a_long_text_is_limited():
    """Of many findings the first are kept in full, of the others a line each; the report itself says all."""
    report = train(60, forget=True)
    (finding,) = report.findings[:1]
    many = msgspec.structs.replace(report, findings=(finding,) * 60)
    kept = bundle_of(many)["text/plain"]
    assert len(many.to_text()) > LONGEST >= len(kept)
    titles = [line for line in kept.splitlines() if line.startswith("error AG201 saved-tensor-modified")]
    assert titles[0] == "error AG201 saved-tensor-modified"
    assert re.search(r"test_saved\.py:\d+  x\.add_\(1\)$", titles[-1])
    assert len(titles) + int(re.search(r"… (\d+) findings? more, and more on these: report", kept)[1]) == 60
    assert "placement: where parameters" in kept


def test_a_short_text_is_kept_whole():
    """What most programs leave."""
    report = train(2)
    assert bundle_of(report)["text/plain"] == report.to_text()
