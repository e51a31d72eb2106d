"""A mistyped command line, header or option: one line names it and the right spelling, and nothing is run."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from autograd_inspector.frontends.cli.main import main
from autograd_inspector.frontends.cli.outcome import UNABLE
from autograd_inspector.integrations.options import check_options
from autograd_inspector.integrations.pytest_checks import options_of
from autograd_inspector.kernel.options import parse

MISTYPED = {
    "run --valuse train.py": ("--valuse", "'--values'"),
    "run --colour never train.py": ("--colour", "'--color'"),
    "run --fail-on erorr train.py": ("--fail-on", "'error'"),
    "run --ignore detatched train.py": ("--ignore", "'detached'"),
    "show --txt report.json": ("--txt", "'--text'"),
    "merge --jsn a.json b.json": ("--jsn", "'--json'"),
    "rule detatched": ("'detatched'", "'detached'"),
    "rnu train.py": ("'rnu'", "'run'"),
    "my-train.py": ("my-train.py", "'autograd-inspect run my-train.py'"),
    "lab/train.ipynb": ("train.ipynb", "'autograd-inspect run lab/train.ipynb'"),
}


@pytest.mark.parametrize("line", MISTYPED)
def test_a_mistyped_command_names_the_right_spelling(line, capsys):
    """The last line on stderr has what was typed and what was meant; the usage above it is that of the command."""
    with pytest.raises(SystemExit) as left:
        main(line.split())
    typed, meant = MISTYPED[line]
    *usage, said = capsys.readouterr().err.strip().splitlines()
    assert left.value.code == UNABLE
    assert typed in said
    assert said.endswith(f"did you mean {meant}?")
    assert usage[0].startswith("usage: autograd-inspect")
    if typed.startswith("--"):
        assert usage[0].startswith(f"usage: autograd-inspect {line.split()[0]}")


def test_what_resembles_nothing_says_where_to_look(capsys):
    """No far-fetched proposal: where the options, or the rules, are listed."""
    with pytest.raises(SystemExit):
        main(["run", "--zzzz", "train.py"])
    assert capsys.readouterr().err.strip().endswith("autograd-inspect run --help explains the options")
    with pytest.raises(SystemExit):
        main(["rule", "AG999"])
    assert capsys.readouterr().err.strip().endswith("`autograd-inspect rule --all` lists them")


def test_options_behind_the_program_are_its_own(tmp_path, capsys):
    """A line says so where they look like ours; `--quiet` keeps it away, and the program gets them in any case."""
    program = tmp_path / "train.py"
    program.write_text("import sys\nprint(sys.argv[1:])\n")
    assert main(["run", str(program), "--json", "report.json"]) == 0
    printed = capsys.readouterr()
    assert "['--json', 'report.json']" in printed.out
    assert f"--json follows {program}" in printed.err
    assert not (tmp_path / "report.json").exists()
    main(["run", "--quiet", str(program), "--json"])
    main(["run", str(program), "--epochs", "3"])
    assert " follows " not in capsys.readouterr().err


def test_a_rule_is_explained_without_markup(capsys):
    """In a terminal code is indented, and nothing else announces it."""
    assert main(["rule", "AG201"]) == 0
    page = capsys.readouterr().out
    assert "::" not in page
    assert "hidden.add_(1.0)" in page


@pytest.mark.parametrize(("line", "meant"), [("--valuse", "--values"), ("--fail-on erorr", "error")])
def test_a_mistyped_header_names_the_right_spelling(line, meant):
    """The magic's first line says it as the command line does."""
    with pytest.raises(UsageError, match=f"did you mean '{meant}'") as raised:
        parse(line)
    assert line.split(maxsplit=1)[0] in str(raised.value).splitlines()[0]


def test_a_mistyped_keyword_of_a_callback_or_a_marker():
    """So do the trainers' callbacks and pytest's marker."""
    with pytest.raises(TypeError, match=r"'fist'; did you mean 'first'\?"):
        check_options({"fist": 1})
    with pytest.raises(TypeError, match=r"'fail_no'; did you mean 'fail_on'\?"):
        options_of((), {"fail_no": "error"})
