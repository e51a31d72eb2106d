"""`autograd-inspect merge`: one report of the files that ranks wrote, also when some ranks wrote none."""

import pytest
import torch
from msgspec.structs import replace
from torch import nn

from autograd_inspector import Report, inspect_optimizer
from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import FINDINGS, UNABLE

from .ranks import run_ranks


def report(rank=-1, world=0, **changes) -> Report:
    """A report as that rank would have written it."""
    net = nn.Linear(2, 1)
    found = inspect_optimizer(torch.optim.SGD(net.parameters(), lr=0.1), net)
    return replace(found, capture=replace(found.capture, rank=rank, world_size=world, **changes))


@pytest.fixture
def merged(tmp_path, capsys):
    """Run the command on files of that content; returns (exit status, report, what it printed on stderr)."""

    def run(*files):
        paths = []
        for name, content in files:
            paths.append(tmp_path / name)
            paths[-1].write_text(content if isinstance(content, str) else content.to_json(), "utf-8")
        status = main(["merge", "--json", str(tmp_path / "all.out"), *map(str, paths)])
        return status, RanksReport.from_json((tmp_path / "all.out").read_text("utf-8")), capsys.readouterr().err

    return run


def test_files_of_two_of_four_ranks(tmp_path, capsys):
    """Ranks that died left no file: they are named as missing, and the columns are those of the others."""
    body = """
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters())
    train(model, optimizer)
    report = inspect_optimizer(optimizer, model)
    if rank in (1, 3):
        with open(f"{folder}/left-{'ab'[rank // 2]}.json", "w") as file:
            file.write(report.to_json())
    tell(None)
    """
    run_ranks(tmp_path, 4, body)
    page = tmp_path / "all.html"
    assert main(["merge", *map(str, sorted(tmp_path.glob("left-*.json"))), "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "4 ranks · no findings · " in printed
    assert "no report from ranks 0, 2" in printed
    header = next(line for line in printed.splitlines() if line.startswith("parameter"))
    assert "rank 1 (cpu)" in header
    assert "rank 3 (cpu)" in header
    assert "no report from ranks 0, 2" in page.read_text("utf-8")


def test_ranks_come_from_the_content_then_the_name_then_the_order(merged):
    """A rank that the report knows is never overruled; other files get the number in their name, or a free one."""
    _, found, _ = merged(("x9.json", report(2, 4)), ("rank_1.json", report()), ("run7-rank03.json", report()))
    assert (found.placement.ranks, found.placement.missing) == ((1, 2, 3), (0,))
    _, found, _ = merged(("a.json", report()), ("b.json", report()), ("20261120.json", report()))
    assert (found.placement.ranks, found.placement.missing) == ((0, 1, 2), ())


def test_bad_files_are_named_and_the_others_merged(merged):
    """One line for each; exit status 125."""
    status, found, errors = merged(
        ("rank0.json", report(0, 2)), ("rank1.json", "{}"), ("again.json", report(0, 2)), ("cut.json", '{"schema":')
    )
    assert status == UNABLE
    assert (found.placement.ranks, found.placement.missing) == ((0,), (1,))
    lines = [line for line in errors.splitlines() if "wrote" not in line]
    assert [name in line for name, line in zip(("rank1", "cut", "again"), lines, strict=True)] == [True] * 3
    assert "rank 0 again" in lines[2]


def test_no_file_is_a_report(tmp_path, capsys):
    """Exit status 125, as for any bad usage."""
    with pytest.raises(SystemExit) as left:
        main(["merge", str(tmp_path / "none.json")])
    assert left.value.code == UNABLE
    assert "none of the files" in capsys.readouterr().err


def test_what_ended_a_rank_is_a_note(merged):
    """The first line of what its program raised."""
    _, found, _ = merged(("a.json", report(0, 2)), ("b.json", report(1, 2, error="ValueError: too deep\nmore")))
    (note,) = found.notes
    assert note.startswith("rank 1: ")
    assert note.endswith("ValueError: too deep")


def test_a_merged_report_can_be_shown(merged, tmp_path, capsys):
    """`show --text` prints what `merge --json` wrote."""
    merged(("a.json", report(0, 2)), ("b.json", report(1, 2)))
    assert main(["show", "--text", str(tmp_path / "all.out")]) == 0
    assert "ranks 0–1, each (cpu)" in capsys.readouterr().out


def test_an_error_finding_on_some_rank_fails(merged):
    """Exit status 121, and the finding is told with the ranks that have it."""
    net = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    optimizer.state[net.weight]["exp_avg"] = optimizer.state[net.weight]["exp_avg"].to("meta")
    wrong = inspect_optimizer(optimizer, net)
    status, found, _ = merged(("rank0.json", report()), ("rank1.json", wrong), ("rank2.json", wrong))
    assert status == FINDINGS
    assert [(each.finding.rule, each.ranks) for each in found.findings] == [("AG401", (1, 2))]


@pytest.mark.parametrize("name", ["</td><script>alert(1)</script>", "right\u202eto left", "nul\0byte", "x" * 10_000])
def test_hostile_names(merged, name, tmp_path):
    """Names of parameters reach neither terminal nor page as anything but text."""
    given = report(0, 2)
    rows = tuple(replace(row, name=name, names=(name,)) for row in given.placement.rows[:1])
    placement = replace(given.placement, rows=(*rows, *given.placement.rows[1:]))
    other = replace(placement, rows=(replace(rows[0], dtype="float64"), *placement.rows[1:]))
    files = [
        replace(given, capture=replace(given.capture, rank=rank, placement=of_rank))
        for rank, of_rank in enumerate((placement, other))
    ]
    _, found, _ = merged(("a.json", files[0]), ("b.json", files[1]))
    assert found.placement.rows[0].name == name
    page = found.to_html(tmp_path / "all.html")
    assert "<script" not in page
    for text in (found.to_text(), page):
        assert "\u202e" not in text
        assert "\0" not in text
        assert "x" * 5_000 not in text
