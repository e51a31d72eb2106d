"""autograd-inspect run --sarif: a log that is valid, and that puts each finding on its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch  # noqa: F401 - loaded once, not in each test
from jsonschema import Draft4Validator

from autograd_inspector.api.report import Report
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.edit import Unedited
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules import CATALOGUE
from autograd_inspector.views.sarif.log import Analysis, to_sarif
from tests.shells import UNSEEN

MAKE = "import torch\nw = torch.ones(3, requires_grad=True)\n"
VALIDATOR = Draft4Validator(
    json.loads((Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json").read_text("utf-8"))
)


def valid(text):
    """The log's only run, after its whole was compared with the OASIS schema."""
    log = json.loads(text)
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    return log["runs"][0]


@pytest.fixture
def sarif(tmp_path, monkeypatch, capsys):
    """Run the command with --sarif in tmp_path; returns (status, the valid run)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = main(["run", "--sarif", "r.sarif", *map(str, arguments)])
        assert "autograd-inspect: wrote r.sarif\n" in capsys.readouterr().err
        return status, valid((tmp_path / "r.sarif").read_text("utf-8"))

    return run


def of_findings(*findings, root, program="train.py"):
    report = Report(Capture(), tuple(findings))
    return valid(to_sarif(Analysis((report,), root / program, root, 0, 1, "0.1.0"), CATALOGUE))


def test_the_validator_refuses_what_is_no_log():
    """The schema is the real one: a run without a tool, a level that there is not, a line 0 are refused."""
    for wrong in (
        {"version": "2.1.0", "runs": [{}]},
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"level": "fatal"}]}]},
    ):
        assert not VALIDATOR.is_valid(wrong)


def test_a_finding_is_on_its_line(sarif, script):
    """Rule, level, relative path, line and columns of the expression; message and Markdown carry the fix."""
    status, run = sarif(script(MAKE + UNSEEN))
    (result,) = run["results"]
    assert (status, result["ruleId"], result["level"]) == (FINDINGS, "AG202", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    region = place["region"]
    line = (MAKE + UNSEEN).split("\n")[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == region["snippet"]["text"] == "y.data.add_(1)"
    assert place["contextRegion"] == {"startLine": region["startLine"], "snippet": {"text": line}}
    assert "Fix: " in result["message"]["text"]
    assert "**Fix:** Use the out-of-place `add`" in result["message"]["markdown"]


def test_a_finding_without_an_edit_says_why(tmp_path):
    """In its properties, for SARIF has no place for it."""
    run = of_findings(
        Finding("AG201", "n", "error", "m", unedited=Unedited("library", "torch/x.py")),
        Finding("AG201", "n", "error", "m"),
        root=tmp_path,
    )
    first, other = run["results"]
    assert first["properties"] == {"noEdit": "the line is in a library (torch/x.py)"}
    assert "properties" not in other


def test_the_story(sarif, script):
    """The other lines are related locations; the code flow has all of them, the culprit first, with their roles."""
    _, run = sarif(script(MAKE + UNSEEN))
    (result,) = run["results"]
    flow = [step["location"] for step in result["codeFlows"][0]["threadFlows"][0]["locations"]]
    assert flow[0] == result["locations"][0]
    assert [place["physicalLocation"] for place in flow[1:]] == [
        place["physicalLocation"] for place in result["relatedLocations"]
    ]
    assert flow[0]["message"]["text"].startswith("modified here: train.py:4")


def test_the_rule(sarif, script):
    """A rule that fired has its page: name, one line, what and why, help as text and Markdown, a level."""
    _, run = sarif(script(MAKE + UNSEEN))
    (rule,) = run["tool"]["driver"]["rules"]
    page = CATALOGUE["AG202"]
    assert (rule["id"], rule["name"], rule["shortDescription"]["text"]) == ("AG202", "UnseenEdit", page.summary)
    assert rule["fullDescription"]["text"].startswith(page.summary)
    assert "## Fix\n\n```python\n" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert run["results"][0]["ruleIndex"] == 0


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_rule_makes_a_valid_descriptor(code, tmp_path):
    """Each page is told whole, its code fenced, at every level; no HTML, which SARIF forbids."""
    run = of_findings(
        *(Finding(code, CATALOGUE[code].name, level, "m") for level in ("error", "warning", "info")), root=tmp_path
    )
    (rule,) = run["tool"]["driver"]["rules"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    assert rule["help"]["markdown"].count("```") >= 4
    assert "::" not in rule["help"]["markdown"]
    assert "Example" not in rule["fullDescription"]["text"]
    assert "Why it matters" not in rule["fullDescription"]["text"]
    assert "## Why it matters" in rule["help"]["markdown"]


def test_a_healthy_program(sarif, script):
    """No results, which a code host takes as: what was there is repaired."""
    status, run = sarif(script(f"{MAKE}(w * 2).sum().backward()\n"))
    assert (status, run["results"], run["tool"]["driver"]["rules"]) == (0, [], [])
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]


@pytest.mark.parametrize(("ending", "status"), [("1 / 0", 1), ("import sys; sys.exit(3)", 3), ("x = = 1", 1)])
def test_a_program_that_fails(sarif, script, ending, status):
    """The invocation tells that the program failed, with the exit code; also when it never began."""
    exit_code, run = sarif(script(f"{MAKE}(w * 2).sum()\n{ending}\n"))
    invocation = run["invocations"][0]
    assert (invocation["executionSuccessful"], invocation["exitCode"], exit_code) == (False, status, status)
    if "/" in ending:
        assert "ZeroDivisionError" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_the_file_goes_where_the_command_was_given(sarif, script):
    """A program that changes its working directory changes no path."""
    _, run = sarif(script(f"import os\nos.chdir('/')\n{MAKE}{UNSEEN}"))
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train.py"


def test_fingerprints(tmp_path, monkeypatch):
    """The same from run to run, and when lines are added above; another line, or the same once more, is another."""

    def prints(folder, text):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("train.py").write_text(text)
        main(["run", "--quiet", "--sarif", "r.sarif", str(Path.cwd() / "train.py")])
        run = valid(Path("r.sarif").read_text("utf-8"))
        return [result["partialFingerprints"]["autogradFinding/v1"] for result in run["results"]]

    first = prints("a", MAKE + UNSEEN)
    assert len(first) == 1
    assert prints("b", f"# a comment\n\n{MAKE}{UNSEEN}") == first
    assert prints("c", MAKE + UNSEEN.replace("add_(1)", "mul_(2)")) != first
    place = Location("train.py", 3, source="y.data.add_(1)")
    twice = of_findings(*[Finding("AG202", "unseen-edit", "error", "m", locations=(place,))] * 2, root=Path.cwd())
    one, two = (result["partialFingerprints"]["autogradFinding/v1"] for result in twice["results"])
    assert one != two


def test_a_notebook(sarif, tmp_path):
    """The artifact is the notebook, without a line of its JSON; the cell stands in message and logical location."""
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    nbformat.write(new_notebook(cells=[new_code_cell(MAKE), new_code_cell(UNSEEN)]), tmp_path / "a book.ipynb")
    _, run = sarif("a book.ipynb")
    (result,) = run["results"]
    place = result["locations"][0]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "a%20book.ipynb", "uriBaseId": "%SRCROOT%"}}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "a book.ipynb::In [2]"
    assert result["message"]["text"].startswith("In [2], line 2: ")


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        (Location("/elsewhere/a b.py", 3), "file:///elsewhere/a%20b.py"),
        (Location("<string>", 3), "train.py"),
        (Location("", 0), "train.py"),
        (Location("sub/größe.py", 3), "sub/gr%C3%B6%C3%9Fe.py"),
    ],
)
def test_where_files_are(location, uri, tmp_path):
    """Outside of the working directory by absolute URI; code without a file is the program's; names are quoted."""
    run = of_findings(Finding("AG101", "detached", "warning", "m", locations=(location,)), root=tmp_path)
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_finding_without_a_line(tmp_path):
    """It is the program's: a code host refuses results without a location."""
    run = of_findings(Finding("AG404", "not-in-optimizer", "warning", "m"), root=tmp_path)
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"}}


def test_columns_count_characters(tmp_path):
    """A location counts UTF-8 bytes; in the log the columns cut the expression out of the line."""
    line = "    größe = {'ä': y.data.add_(1)}"
    start = len(line[: line.index("y.data")].encode())
    location = Location(
        "train.py", 3, source=line.strip(), column=start, end_column=start + 14, expression="y.data.add_(1)"
    )
    run = of_findings(Finding("AG202", "unseen-edit", "error", "m", locations=(location,)), root=tmp_path)
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "y.data.add_(1)"


def test_hostile_names(tmp_path):
    """Braces are no placeholders, Markdown and HTML are only text, controls are spelled out, a lone surrogate fits."""
    evil = "<script>x</script> {0} [a](javascript:b) \x1b[31m \ud800 \u202e `c`"
    location = Location("train.py", 1, function=evil, source=evil, role=evil, expression=evil, column=0, end_column=9)
    finding = Finding("AG101", "detached", "error", evil, fix="```\n" + evil, locations=(location, location))
    message = of_findings(finding, root=tmp_path)["results"][0]["message"]
    assert "{{0}}" in message["text"]
    assert "\x1b" not in message["text"]
    assert "\\<script\\>" in message["markdown"]
    assert "[a](" not in message["markdown"]


def test_a_file_that_cannot_be_written(script, tmp_path, capsys):
    """One line says so, when the folder goes while the program runs; the exit status is that of the findings."""
    folder = tmp_path / "reports"
    folder.mkdir()
    program = script(f"import os\nos.rmdir({str(folder)!r})")
    assert main(["run", "--quiet", "--sarif", str(folder / "r.sarif"), str(program)]) == 0
    assert f"cannot write {folder / 'r.sarif'}" in capsys.readouterr().err


def test_a_file_outside_of_the_root(tmp_path):
    """Its URI is whole, and has no way back in it: `..` in a URI is refused by code hosts."""
    (tmp_path / "repository").mkdir()
    place = Location("../train.py", 3, "step", source="h += 1", role="modified here")
    finding = Finding("AG201", "saved-tensor-modified", "error", "It was modified.", locations=(place,))
    run = of_findings(finding, root=tmp_path / "repository")
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": (tmp_path.resolve() / "train.py").as_uri()}
