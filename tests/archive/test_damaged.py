"""Damaged and hostile reports: each is refused in one line, or every view can show it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from functools import cache

import pytest
from msgspec.structs import replace

from autograd_inspector import Report
from autograd_inspector.analysis.ranks_data import RANKS_SCHEMA
from autograd_inspector.api.rank_parts import RankPart, part_of
from autograd_inspector.api.report import ReportFormatError
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.model.sound import fault_in, fault_in_placement
from autograd_inspector.views.archive import decode
from autograd_inspector.views.html import report as page
from autograd_inspector.views.picture.render import GraphvizMissingError

from .mutations import Damage
from .reports import KINDS, report
from .shown import read, shown_everywhere

EACH = 30
"""Damaged copies of each report; a longer run takes other seeds: ``python -m tests.archive``."""


@cache
def damage(kind):
    return Damage(report(kind).to_json())


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without their picture: a process for each of hundreds of pages takes minutes."""

    def missing(graph):
        raise GraphvizMissingError

    monkeypatch.setattr(page, "svg_of", missing)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_of_any_kind(kind, undrawn):
    """Dropped keys, other types, other numbers, lists cut or doubled, deep nesting, broken text and encodings."""
    outcomes = set()
    for seed in range(EACH):
        found = read(damage(kind).one(seed))
        outcomes.add(found is None)
        if found is not None:
            shown_everywhere(found)
    assert outcomes == {True, False}


@pytest.mark.parametrize("kind", KINDS)
def test_sound_reports_are_not_refused(kind):
    """What was captured keeps to all that a file has to keep to."""
    given = report(kind)
    if isinstance(given, Report):
        assert fault_in(given.capture) == ""
        assert fault_in_placement(given.placement) == ""
    shown_everywhere(type(given).from_json(given.to_json()))


def put(kind, path, value):
    """The JSON of a report with another value at one place."""
    data = json.loads(report(kind).to_json())
    *outer, last = path
    found = data
    for key in outer:
        found = found[key]
    found[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("ops", 2, "inputs"), [999], "capture.ops[2].inputs[0]: 999 "),
        (("ops", 2, "inputs"), [-1], "capture.ops[2].inputs[0]: -1 "),
        (("ops", 2, "index"), 7, "capture.ops[2].index: 7 instead of 2"),
        (("ops", 0, "site"), 10**6, "capture.ops[0].site"),
        (("ops", 0, "region"), 99, "capture.ops[0].region"),
        (("tensors", 0, "id"), 3, "capture.tensors[0].id: 3 instead of 0"),
        (("calls", 1, "parent"), 1, "capture.calls[1].parent: 1 "),
        (("calls", 0, "parent"), 2, "capture.calls[0].parent"),
        (("calls", 0, "root"), 5, "capture.calls[0].root"),
        (("backwards", 0, "roots"), [10**9], "capture.backwards[0].roots[0]"),
        (("backwards", 0, "nested_in"), 0, "capture.backwards[0].nested_in"),
        (("nodes", 0, "edges"), [[999, 0]], "capture.nodes.edges"),
        (("backwards", 0, "graph", "roots"), [-3], "capture.backwards[0].graph.roots"),
        (("nodes", 0, "op"), 10**9, "capture.nodes[0].op"),
        (("nodes", 1, "index"), 0, "capture.nodes[1].index"),
        (("steps", 0, "optimizer"), 4, "capture.steps[0].optimizer"),
        (("steps", 0, "parameters", 0, "tensor"), -7, "capture.steps[0].parameters[0].tensor"),
        (("placement", "rows", 0, "group"), 9, "capture.placement.rows[0].group"),
        (("placement", "rows", 0, "optimizer"), 9, "capture.placement.rows[0].optimizer"),
        (("placement", "optimizers", 0, "id"), 1, "capture.placement.optimizers[0].id"),
        (("owners",), {"999": 0}, "capture.owners"),
        (("function_sites",), {"f": 999}, "capture.function_sites"),
        (("nonfinite",), [999, "nan"], "capture.nonfinite"),
        (("history", "backwards", "times"), [3 * 10**8], "capture.history.backwards.times: 300000000 "),
        (("history", "ops", "times"), [-1], "capture.history.ops.times"),
        (("history", "still", "values"), [10**6] * 3, "capture.history.still"),
        (("history", "steps"), 10**30, "capture.history.steps"),
        (("history", "steps"), -4, "capture.history.steps"),
        (("regions", 0, "kind"), "otherwise", "$.capture.regions[0].kind"),
        (("tensors", 0, "nbytes"), 10**50, "capture.tensors[0].nbytes: a number "),
        (("tensors", 0, "shape"), [10**50], "capture.tensors[0].shape[0]: a number "),
    ],
)
def test_the_field_is_named(path, value, said):
    """What points nowhere, is numbered otherwise, has another length or is beyond any size: one line says which."""
    with pytest.raises(ReportFormatError) as caught:
        Report.from_json(put("folded", ("capture", *path), value))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_of_ranks_that_is_missing():
    """In the report of several ranks each row has an entry for each of them."""
    from autograd_inspector.api.ranks import RanksReport

    for path in (("placement", "rows", 0, "shares"), ("placement", "totals")):
        with pytest.raises(ReportFormatError, match=r"placement\.(rows\[0\]\.shares|totals): "):
            RanksReport.from_json(put("ranks", path, []))


def test_a_part_that_another_rank_sends():
    """`gather()` refuses a placement whose rows speak of optimizers that are not there."""
    part = part_of(report("folded"))
    rows = (replace(part.placement.rows[0], optimizer=7), *part.placement.rows[1:])
    text = json.dumps(json.loads(Report.to_json(replace(part, placement=replace(part.placement, rows=rows)))))
    with pytest.raises(ReportFormatError, match=r"placement\.rows\[0\]\.optimizer: 7"):
        decode(text, RankPart, RANKS_SCHEMA, lambda found: fault_in_placement(found.placement))


@pytest.mark.parametrize(
    "text", ["[" * 300_000, '{"schema":1,"capture":' + '{"x":' * 300_000, '{"schema":' + "9" * 6000]
)
def test_texts_that_are_hard_to_parse(text):
    """Deep nesting and a number of thousands of digits are refused like anything else."""
    for given in (text, text.encode()):
        with pytest.raises(ReportFormatError):
            Report.from_json(given)


def test_a_text_that_looks_like_a_large_number_is_a_text():
    """Forty digits in a name are no size."""
    given = replace(report("healthy"), notes=("1" * 60, f"[{'2' * 60},{'3' * 60}]"))
    assert Report.from_json(given.to_json()) == given


FILES = {
    "empty": b"",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "gzip": gzip.compress(b'{"schema": 1}'),
    "a byte order mark": b'\xef\xbb\xbf{"schema": 1}',
    "UTF-16": '{"schema": 1}'.encode("utf-16"),
    "two reports": b'{"schema": 1}{"schema": 1}',
    "deep": b"[" * 300_000,
    "a folder": None,
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_report(name, tmp_path, capsys):
    """`show` and `merge` say so in one line that names the file; the exit status is that of bad usage."""
    path = tmp_path / "r.json"
    if FILES[name] is None:
        path.mkdir()
    else:
        path.write_bytes(FILES[name])
    for command in (["show", "--text"], ["merge"]):
        with pytest.raises(SystemExit) as left:
            main([*command, str(path)])
        assert left.value.code == 125
        lines = capsys.readouterr().err.split("autograd-inspect")
        assert sum(str(path) in line for line in lines) == 1


def test_merge_tells_which_file_is_damaged(tmp_path, capsys):
    """The others are merged; the line names the file and the field."""
    sound, damaged = tmp_path / "rank0.json", tmp_path / "rank1.json"
    sound.write_text(report("healthy").to_json())
    damaged.write_text(put("healthy", ("capture", "ops", 0, "site"), 10**6))
    assert main(["merge", str(sound), str(damaged)]) == 125
    said = capsys.readouterr()
    assert "rank1.json: damaged " in said.err
    assert "capture.ops[0].site: 1000000 " in said.err
    assert "rank 0" in said.out


def test_a_device_is_not_read_without_end(capsys):
    """/dev/zero never ends."""
    if not os.path.exists("/dev/zero"):  # noqa: PTH110
        pytest.skip("this system has no such device")
    with pytest.raises(SystemExit) as left:
        main(["show", "/dev/zero"])
    assert left.value.code == 125
    assert "/dev/zero: " in capsys.readouterr().err.splitlines()[-1]


def test_deep_calls_are_shown_in_little_memory(tmp_path):
    """A module that calls itself thousands of times: text, page and picture, without a recursion that deep."""
    data = json.loads(report("healthy").to_json())
    capture = data["capture"]
    first = capture["calls"][0]
    count = len(capture["calls"])
    for number in range(count, count + 20_000):
        capture["calls"].append({**first, "id": number, "parent": number - 1})
    capture["ops"][-1]["call"] = capture["ops"][0]["call"] = count + 19_999
    path = tmp_path / "deep.json"
    path.write_text(json.dumps(data))
    program = (
        "import resource, sys; from pathlib import Path; from autograd_inspector import Report\n"
        "report = Report.from_json(Path(sys.argv[1]).read_bytes())\n"
        "used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "report.to_text(); report.to_html(); report.to_dot()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200_000  # kB
