"""`inspection.try_fixes()`: a program runs again, with the edits of its findings, in a copy of the process."""

import linecache
import os
import textwrap

import pytest
import torch
from msgspec.structs import replace

from autograd_inspector import Report, inspect
from autograd_inspector.api.in_a_copy import rerunning
from autograd_inspector.api.new_code import put_in
from autograd_inspector.api.patches import patch_of_edits
from autograd_inspector.api.programs import Programs
from autograd_inspector.api.trials import candidates, most_trials, tried
from autograd_inspector.model.edit import Alternative

HEAD = "import torch\nfrom torch import nn\n"


def program(tmp_path, text, name="train.py"):
    """The names of a module, and the file that it is in."""
    path = tmp_path / name
    path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
    linecache.checkcache(str(path))
    names = {"__name__": "train", "runs": []}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), names)
    return names, path


def verdicts(names):
    torch.manual_seed(0)
    with inspect() as inspection:
        names["train"]()
    report = inspection.try_fixes(names["train"])
    assert inspection.report is report
    return {finding.rule: finding.verified for finding in report.findings if finding.severity != "info"}


CUT = """
enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)

def train():
    runs.append(1)
    opt.zero_grad()
    head(enc(torch.ones(4, 3)).detach()).pow(2).mean().backward()
    opt.step()
"""


def test_an_edit_that_cures_is_marked(tmp_path):
    """The program here ran once, and its functions are as they were."""
    names, _ = program(tmp_path, CUT)
    before = names["train"].__code__
    assert verdicts(names) == {"AG101": "cured"}
    assert names["runs"] == [1]
    assert names["train"].__code__ is before
    assert names["enc"].weight.grad is None


def test_an_edit_that_does_not_cure_is_marked(tmp_path):
    """The copy still tells the finding: what runs there is not what is edited."""
    names, _ = program(tmp_path, CUT)
    with inspect() as inspection:
        names["train"]()
    report = inspection.try_fixes(lambda: cut_again(names["enc"]))
    assert [f.verified for f in report.findings] == ["not cured"]


def with_others(report, *texts):
    """The report, its one finding with those texts in place of the detached expression, as alternatives."""
    (finding,) = report.findings
    (edit,) = finding.edits
    ways = [(replace(edit, text=text),) for text in texts]
    first, *others = [Alternative(edits, patch_of_edits(edits, Programs())) for edits in ways]
    return replace(
        report, findings=(replace(finding, edits=first.edits, patch=first.patch, alternatives=tuple(others)),)
    )


def test_alternatives_are_tried_up_to_the_first_that_cures(tmp_path):
    """It becomes the finding's own edit; of those before it the report says that they do not cure."""
    names, path = program(tmp_path, CUT)
    with inspect() as inspection:
        names["train"]()
    layer = "enc(torch.ones(4, 3))"
    report = with_others(inspection.report, f"{layer}.data", f"{layer}.clone()", layer, f"{layer} * 1")
    said = []
    after = tried(report, candidates(report), rerunning(lambda: rerun(names["train"]), 60.0), said.append)
    (finding,) = after.findings
    assert (finding.edits[0].text, finding.verified) == (f"{layer}.clone()", "cured")
    assert f"+    head({layer}.clone())" in finding.patch
    assert [(way.edits[0].text, way.verified) for way in finding.alternatives] == [
        (f"{layer}.data", "not cured"),
        (layer, ""),
        (f"{layer} * 1", ""),
    ]
    assert [line.rpartition(" (")[0] for line in said] == [
        "AG101: fix 1 of 4 does not cure it",
        "AG101: fix 2 of 4 cures it",
    ]
    assert "[tried: cured; 1 other edit was tried: not cured]" in " ".join(after.to_text(width=200).split())
    assert after.patched()[str(path)] == path.read_text().replace(".detach()", ".clone()")
    assert Report.from_json(after.to_json()).findings == after.findings


def test_where_no_alternative_cures_the_first_is_kept(tmp_path):
    """Each has its verdict."""
    names, _ = program(tmp_path, CUT)
    with inspect() as inspection:
        names["train"]()
    layer = "enc(torch.ones(4, 3))"
    report = with_others(inspection.report, f"{layer}.data", f"{layer}.detach().clone()")
    after = tried(report, candidates(report), rerunning(lambda: rerun(names["train"]), 60.0), lambda _: None)
    (finding,) = after.findings
    assert (finding.edits, finding.verified) == (report.findings[0].edits, "not cured")
    assert [way.verified for way in finding.alternatives] == ["not cured"]
    assert most_trials(report.findings) == 2


def rerun(train):
    with inspect() as again:
        train()
    return again.report


def cut_again(layer):
    """The same fault elsewhere."""
    head = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    opt.zero_grad()
    head(layer(torch.ones(4, 3)).detach()).pow(2).mean().backward()
    opt.step()


def test_edits_that_need_each_other_are_marked_together(tmp_path):
    """One edit alone only brings the other fault to light."""
    names, _ = program(
        tmp_path,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))

        def train():
            a = torch.sigmoid(net[0](torch.ones(4, 3)))
            b = torch.sigmoid(net[0](torch.ones(4, 3)))
            loss = net[1](a).pow(2).mean() + net[1](b).pow(2).mean()
            a.mul_(2)
            b.mul_(2)
            loss.backward()
        """,
    )
    with inspect() as inspection, pytest.raises(RuntimeError):
        names["train"]()
    report = inspection.try_fixes(names["train"])
    assert {f.verified for f in report.findings if f.edits} == {"cured"}


def test_the_smallest_set_that_cures_is_marked(tmp_path):
    """Of three findings two need each other; the third, whose edit does not help where it runs, is left out."""
    names, _ = program(
        tmp_path,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD([*net.parameters(), *enc.parameters(), *head.parameters()], lr=0.1)

        def cut():
            head(enc(torch.ones(4, 3)).detach()).pow(2).mean().backward()
            opt.step()

        def train():
            cut()
            a = torch.sigmoid(net[0](torch.ones(4, 3)))
            b = torch.sigmoid(net[0](torch.ones(4, 3)))
            loss = net[1](a).pow(2).mean() + net[1](b).pow(2).mean()
            a.mul_(2)
            b.mul_(2)
            loss.backward()
        """,
    )
    with inspect() as inspection, pytest.raises(RuntimeError):
        names["train"]()

    def cut_elsewhere():
        names["head"](names["enc"](torch.ones(4, 3)).detach()).pow(2).mean().backward()
        names["opt"].step()

    def rerun():
        names["opt"].zero_grad()
        names["train"].__globals__["cut"] = cut_elsewhere
        names["train"]()

    found = {f.rule: f.verified for f in inspection.try_fixes(rerun).findings if f.edits}
    assert found["AG101"] == "not cured"
    assert {verified for rule, verified in found.items() if rule != "AG101"} == {"cured"}


def test_what_only_the_module_runs_is_no_trial(tmp_path):
    """A module's own text has run: its edit cannot be tried by calling a function."""
    names, _ = program(
        tmp_path,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))

        def train():
            net(torch.ones(4, 3)).sum().backward()
        """,
    )
    with inspect() as inspection, pytest.raises(RuntimeError):
        names["train"]()
    assert [f.verified for f in inspection.try_fixes(names["train"]).findings] == ["not cured"]


def test_a_program_that_never_ends_is_stopped(tmp_path):
    """A trial has a limit."""
    names, _ = program(tmp_path, CUT)
    with inspect() as inspection:
        names["train"]()
    report = inspection.try_fixes(lambda: [None for _ in iter(int, 1)], limit=1.0)
    assert [f.verified for f in report.findings] == ["not cured"]


def test_a_copy_that_cannot_run_it_is_refused(tmp_path, monkeypatch):
    """It is said why."""
    names, _ = program(tmp_path, CUT)
    with inspect() as inspection:
        names["train"]()
    monkeypatch.delattr(os, "fork")
    with pytest.raises(RuntimeError, match="cannot fork"):
        inspection.try_fixes(names["train"])


def test_methods_and_closures_get_their_new_code(tmp_path):
    """Functions that are there already run the new text; a change of a class's own text is none of theirs."""
    text = """
    class Net:
        scale = 1
        def forward(self):
            return 1
    def make():
        k = 2
        def inner():
            return k
        return inner
    inner = make()
    """
    names, path = program(tmp_path, text)
    before = path.read_text()
    assert put_in(str(path), before, before.replace("return 1", "return 10").replace("return k", "return k + 1"))
    assert names["Net"]().forward() == 10
    assert names["inner"]() == 3
    assert not put_in(str(path), before, before.replace("scale = 1", "scale = 'x'"))
