"""Several ranks in one widget, on one page, in one entry of the panel."""

import json
import re

import pytest
from msgspec.structs import replace

from autograd_inspector import Report, merge_reports
from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.kernel import display, widget
from autograd_inspector.kernel.hub.entries import entry_of
from autograd_inspector.views.exports import writer_of
from autograd_inspector.views.html import page
from autograd_inspector.views.notebook.saved import CAPTURE, opened

from .programs import ranks


@pytest.fixture(autouse=True)
def built(monkeypatch):
    """What is in the bundle does not matter here."""
    for module in (widget, page):
        monkeypatch.setattr(module, "asset", lambda _name: "")
    monkeypatch.setattr(widget, "digest", lambda _name: "d1")


@pytest.fixture(scope="module")
def merged() -> RanksReport:
    return ranks()


def wire(text: str) -> dict:
    return json.loads(text)


def test_the_rank_of_the_first_finding_is_shown_and_another_can_be_chosen(merged):
    """The findings stay those of all ranks; nodes are those of the graph that is shown."""
    shown = merged.widget()
    first = wire(shown.payload)
    assert first["ranks"]["shown"] == 1
    assert [(one["rule"], one["ranks"], bool(one.get("nodes"))) for one in first["findings"]] == [
        ("AG101", "rank 1", True)
    ]
    shown.selected = first["findings"][0]["nodes"]
    shown._asked(shown, {"command": "rank", "rank": 2}, [])
    second = wire(shown.payload)
    assert second["ranks"]["shown"] == 2
    assert [(one["rule"], one.get("nodes", [])) for one in second["findings"]] == [("AG101", [])]
    assert shown.selected == []
    assert shown.report.capture is merged.reports[2].capture
    for unknown in (3, "2", None):
        shown._asked(shown, {"command": "rank", "rank": unknown}, [])
    assert wire(shown.payload)["ranks"]["shown"] == 2


def test_each_rank_can_be_told_from_the_others(merged):
    """Its findings, what kept it from the end, whether its capture is here."""
    told = wire(merged.widget().payload)["ranks"]
    assert [(one["rank"], one["said"], one.get("kept", False)) for one in told["choices"]] == [
        (0, "no findings", True),
        (1, "1 finding · waits in barrier train.py:8", True),
        (2, "no findings", True),
        (3, "no report", False),
    ]
    assert [lane["ranks"] for lane in told["lanes"]] == ["ranks 0, 2", "rank 1", "rank 3"]
    assert told["same"] == 1
    assert told["headers"][-2:] == ["ranks 0, 2, each (cpu)", "rank 1 (cpu)"]
    assert any("lr: 0.1 on rank 0, 0.2 on rank 1" in line for line in told["differences"])


def test_a_page_has_the_captures_of_all_ranks(merged):
    """No kernel is there to ask for another."""
    text = merged.to_html(interactive=True)
    found = re.findall(r'id="payload([^"]*)"', text) + re.findall(r"id=payload(\S*?)>", text)
    assert sorted(found) == ["", "-0", "-1", "-2"]


def test_the_panel_and_the_file_have_one_entry_of_all_ranks(merged):
    """The entry says how many ranks there are; the notebook file keeps the rank that was shown."""
    first = merged.of_rank(1)
    assert (
        entry_of(first, "a", 0.0).headline
        == "4 ranks · 1 warning · no report from rank 3 · ranks differ in 4 parameters"
    )
    bundle = merged._repr_mimebundle_()
    record, _ = opened(bundle[CAPTURE])
    assert record["ranks"]["shown"] == 1
    assert "rank 1" in bundle["text/html"]


def test_shown_in_a_kernel_it_is_one_widget(merged, monkeypatch):
    """That of the rank with the first finding, listed once."""
    listed = []
    monkeypatch.setattr(display, "shell_in_kernel", object)
    monkeypatch.setattr(display, "add", listed.append)
    bundle = merged._repr_mimebundle_()
    assert listed == [merged.of_rank(1)]
    again = merged._repr_mimebundle_()
    assert again[widget.VIEW] == bundle[widget.VIEW]


def test_what_is_exported_is_of_all_ranks(merged):
    """JSON that RanksReport reads; the picture in DOT is that of the rank shown."""
    assert RanksReport.from_json(writer_of("json")(merged.of_rank(0))) == merged
    assert writer_of("dot")(merged.of_rank(0)) == merged.reports[0].to_dot()


def test_without_captures_there_is_still_a_widget(merged):
    """What JSON brought has no graph, and tells all the rest."""
    read = wire(RanksReport.from_json(merged.to_json()).widget().payload)
    assert read["ranks"]["shown"] == -1
    assert read["nodes"]["kind"] == []
    assert [one["rule"] for one in read["findings"]] == ["AG101"]
    assert not any(one.get("kept") for one in read["ranks"]["choices"])


def test_reports_of_several_processes_are_merged_as_data(merged):
    """Reports or their JSON, a list or by rank; a report that says its rank is of that rank."""
    texts = [report.to_json() for report in merged.reports.values()]
    assert merge_reports(texts).placement == merge_reports(list(merged.reports.values())).placement
    assert merge_reports({4: texts[0], 1: texts[1]}).placement.ranks == (1, 4)
    numbered = [
        replace(report, capture=replace(report.capture, rank=2 - number, world_size=4))
        for number, report in merged.reports.items()
    ]
    told = merge_reports(numbered)
    assert (told.placement.ranks, told.placement.missing) == ((0, 1, 2), (3,))
    assert told.reports[2] is numbered[0]
    for wrong, said in (([], "no report"), ([numbered[0], numbered[0]], "two reports come from the same rank")):
        with pytest.raises(ValueError, match=said):
            merge_reports(wrong)
    assert isinstance(told.reports[0], Report)


def test_a_finding_of_several_ranks_keeps_the_ops_of_each(merged):
    """Who called the line, and how many ops ran before, may differ: it is one finding all the same."""
    (finding,) = merged.reports[1].findings
    later = replace(finding, ops=(0,), locations=finding.locations[:1])
    told = merge_reports([merged.reports[1], replace(merged.reports[1], findings=(later,))])
    assert [one.ranks for one in told.findings] == [(0, 1)]
    assert [told.of_rank(rank).findings[0].ops for rank in (0, 1)] == [finding.ops, (0,)]
