"""The pytest plugin: a marker for whole tests, a fixture for parts of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: F401 - loaded once: each session below runs in this process, and forgets what it imports

import autograd_inspector
import autograd_inspector.integrations.pytest_checks
from tests.shells import UNSEEN

pytest_plugins = ["pytester"]

PROGRAM = f"""
import pytest, torch

def unhealthy():
    w = torch.ones(3, requires_grad=True)
    {UNSEEN.replace(chr(10), chr(10) + "    ")}

def starving():
    net, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    head(net(torch.ones(1, 2)).detach()).sum().backward()
    optimizer.step()

def healthy():
    w = torch.ones(3, requires_grad=True)
    (w * 2).sum().backward()
"""


@pytest.fixture
def session(pytester, monkeypatch):
    """Run tests in a pytest of their own that has this plugin and no other; returns its result."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "200")  # pytest cuts the lines of its summary
    monkeypatch.delenv("CI", raising=False)  # ... but not on a CI server
    monkeypatch.delenv("BUILD_NUMBER", raising=False)

    def run(tests, *options, program=PROGRAM):
        pytester.makepyfile(program + tests)
        plugin = "autograd_inspector.integrations.pytest_plugin"
        return pytester.runpytest_inprocess("-p", plugin, "--strict-markers", *options)

    return run


def test_a_marked_test_with_a_finding(session):
    """It fails, with the report's text: rule, culprit line, fix; no traceback of ours; the summary names the rule."""
    done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([
        "AG202 unseen-edit (test_a_marked_test_with_a_finding.py:*)",
        "*autograd inspector: 1 error*",
        "error AG202 unseen-edit",
        "*modified here*test_a_marked_test_with_a_finding.py:*y.data.add_(1)",
        "*fix: *",
        "FAILED *::test_it - UnhealthyError: AG202 unseen-edit (*",
    ])  # fmt: skip
    said = done.stdout.str()
    assert "Traceback" not in said
    assert "pytest_checks" not in said.split("short test summary")[0]
    assert said.count("error AG202") == 1


def test_the_edits_of_a_failure_are_a_patch(session, pytester):
    """Below the report, for `git apply`; once, and only of what failed the test."""
    done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n")
    patch = done.stdout.str().partition("- autograd inspector, edits -")[2].partition("\n")[2].partition("\n===")[0]
    name = "test_the_edits_of_a_failure_are_a_patch.py"
    assert patch.startswith(f"--- a/{name}\n+++ b/{name}\n@@ ")
    subprocess.run(["git", "apply"], input=f"{patch}\n", text=True, cwd=pytester.path, check=True)
    assert "y.data.add_(1)" not in (pytester.path / name).read_text()
    done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n    assert 1 == 2\n")
    assert "autograd inspector, edits" not in done.stdout.str()


@pytest.mark.parametrize(("color", "coloured"), [("yes", True), ("no", False)])
def test_the_patch_has_the_colours_of_the_terminal(session, color, coloured):
    """As pytest itself decides it."""
    done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n", f"--color={color}")
    assert ("\x1b[31m-    y.data.add_(1)\x1b[0m" in done.stdout.str()) is coloured
    assert "    y.data.add_(1)" in done.stdout.str()


@pytest.mark.parametrize("option", ["-v", "-vv"])
@pytest.mark.parametrize("ci", ["", "1"])
def test_the_summary_where_pytest_cuts_nothing(session, monkeypatch, ci, option):
    """With -vv, and on a CI server, where pytest's summary is as long as the failure, ours is one line too."""
    monkeypatch.setenv("CI", ci)
    done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n", option)
    failure, summary = done.stdout.str().split("short test summary")
    assert failure.count("error AG202") == 1
    assert summary.count("\n") == 2
    assert "UnhealthyError: AG202 unseen-edit (" in summary


def test_healthy_tests(session):
    """They pass, and say nothing; tests without marker or fixture are not inspected."""
    done = session(
        "@pytest.mark.autograd_healthy\ndef test_it():\n    healthy()\n"
        "def test_other(autograd_inspect):\n    with autograd_inspect() as seen:\n        healthy()\n"
        "    assert seen.report.findings == ()\n"
        "def test_unmarked():\n    unhealthy()\n"
    )
    done.assert_outcomes(passed=3)
    assert "autograd" not in done.stdout.str().split("collected")[1]


def test_the_level(session):
    """A marked test has no warnings, a block may, unless they say otherwise; `ignore` drops rules; None only looks."""
    done = session(
        "def test_block(autograd_inspect):\n    with autograd_inspect(fail_on='warning'):\n        starving()\n"
        "def test_default(autograd_inspect):\n    with autograd_inspect():\n        starving()\n"
        "def test_looked(autograd_inspect):\n    with autograd_inspect(fail_on=None) as seen:\n        unhealthy()\n"
        "    assert seen.report.findings\n"
        "@pytest.mark.autograd_healthy\ndef test_marked():\n    starving()\n"
        "@pytest.mark.autograd_healthy(fail_on='error')\ndef test_plain():\n    starving()\n"
        "@pytest.mark.autograd_healthy(ignore='AG2')\ndef test_text():\n    unhealthy()\n"
        "@pytest.mark.autograd_healthy(ignore=('AG101', 'ag202'))\ndef test_tuple():\n    unhealthy()\n"
    )
    done.assert_outcomes(passed=5, failed=2)
    done.stdout.fnmatch_lines(
        ["FAILED *::test_block - UnhealthyError: AG101*", "FAILED *::test_marked - UnhealthyError: AG101*"]
    )


def test_a_test_that_fails_by_itself(session):
    """It keeps its own exception and traceback; the report is a section below. A passing block is one too."""
    done = session(
        "@pytest.mark.autograd_healthy\ndef test_it():\n    unhealthy()\n    assert 1 == 2\n"
        "def test_block(autograd_inspect):\n    with autograd_inspect():\n        unhealthy()\n    assert 3 == 4\n"
    )
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines([
        ">       assert 1 == 2", "E       assert 1 == 2", "*- autograd inspector -*", "error AG202 unseen-edit",
        ">       assert 3 == 4", "*- autograd inspector -*", "error AG202 unseen-edit",
        "FAILED *::test_it - assert 1 == 2", "FAILED *::test_block - assert 3 == 4",
    ])  # fmt: skip
    assert done.stdout.str().count("error AG202") == 2


def test_several_blocks(session):
    """All blocks are checked when the test has ended; the failure tells those with findings, a section the others."""
    done = session(
        "def test_it(autograd_inspect):\n"
        "    for step in (unhealthy, healthy, unhealthy):\n        with autograd_inspect():\n            step()\n"
        "    print('reached the end')\n"
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["AG202 unseen-edit (*), AG202 unseen-edit (*)", "*reached the end*", "*autograd inspector, block 2*"]
    )
    assert done.stdout.str().count("error AG202") == 2


def test_other_kinds_of_tests(session):
    """Parametrized tests, methods, unittest's, and a mark of a whole class or of one parameter work as on functions."""
    done = session(
        "import unittest\n"
        "@pytest.mark.autograd_healthy\n@pytest.mark.parametrize('step', [healthy, unhealthy])\n"
        "def test_it(step):\n    step()\n"
        "@pytest.mark.parametrize('step', [healthy, pytest.param(unhealthy, marks=pytest.mark.autograd_healthy)])\n"
        "def test_parameter(step):\n    step()\n"
        "@pytest.mark.autograd_healthy\nclass TestOld(unittest.TestCase):\n"
        "    def test_fine(self):\n        healthy()\n"
        "    def test_found(self):\n        unhealthy()\n"
        "    def test_own(self):\n        unhealthy()\n        self.assertEqual(1, 2)\n"
        "@pytest.mark.autograd_healthy\nclass TestNew:\n    def test_found(self):\n        unhealthy()\n"
    )
    done.assert_outcomes(passed=3, failed=5)
    done.stdout.fnmatch_lines_random(
        [
            "FAILED *::test_it[[]unhealthy] - UnhealthyError: AG202*",
            "FAILED *::test_parameter[[]unhealthy] - UnhealthyError: AG202*",
            "FAILED *::TestOld::test_found - UnhealthyError: AG202*",
            "FAILED *::TestOld::test_own - AssertionError: 1 != 2",
            "FAILED *::TestNew::test_found - UnhealthyError: AG202*",
        ]
    )


def test_outcomes_of_pytest(session):
    """A skipped test stays skipped; an expected failure may expect the findings by their exception."""
    done = session(
        "from autograd_inspector import AutogradFindingsError\n"
        "@pytest.mark.autograd_healthy\ndef test_skipped():\n    unhealthy()\n    pytest.skip('why')\n"
        "@pytest.mark.autograd_healthy\n@pytest.mark.xfail(raises=AutogradFindingsError, strict=True)\n"
        "def test_known():\n    unhealthy()\n"
        "@pytest.mark.autograd_healthy\n@pytest.mark.xfail(raises=AutogradFindingsError, strict=True)\n"
        "def test_other():\n    1 / 0\n"
    )
    done.assert_outcomes(skipped=1, xfailed=1, failed=1)


def test_blocks_that_raise(session):
    """An exception that the test expects leaves the findings standing: the block says when they are expected too."""
    done = session(
        "def test_it(autograd_inspect):\n    with pytest.raises(ZeroDivisionError), autograd_inspect():\n"
        "        unhealthy()\n        1 / 0\n"
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["FAILED *::test_it - UnhealthyError: AG202*"])


def test_nested_use(session):
    """Marker and fixture together, or block in block, are refused in one line; a test may use inspect()."""
    done = session(
        "import autograd_inspector\n"
        "@pytest.mark.autograd_healthy\ndef test_both(autograd_inspect):\n    pass\n"
        "@pytest.mark.autograd_healthy\ndef test_inner():\n    with autograd_inspector.inspect():\n        pass\n"
        "def test_blocks(autograd_inspect):\n    with autograd_inspect(), autograd_inspect():\n        pass\n"
        "def test_next(autograd_inspect):\n    with autograd_inspect():\n        healthy()\n"
    )
    done.assert_outcomes(errors=1, failed=1, passed=2)
    done.stdout.fnmatch_lines(["*; use one of the two"])
    done.stdout.fnmatch_lines(["FAILED *::test_blocks - *a capture is already open*"])


def test_a_session_that_is_inspected(session):
    """Under `autograd-inspect run -m pytest` a marked test fails in one line: there is a capture already."""
    with autograd_inspector.inspect():
        done = session("@pytest.mark.autograd_healthy\ndef test_it():\n    healthy()\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["@pytest.mark.autograd_healthy: autograd_inspector: a capture is already open*"])
    assert "Traceback" not in done.stdout.str()


def test_a_block_that_was_forgotten(session):
    """A call without `with` would check nothing: it fails the test. A fixture's block is checked when it ends."""
    done = session(
        "def test_forgotten(autograd_inspect):\n    autograd_inspect()\n"
        "@pytest.fixture\ndef step(autograd_inspect):\n    with autograd_inspect():\n        yield\n"
        "def test_in_a_fixture(step):\n    unhealthy()\n"
    )
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["*autograd_inspect() *: with autograd_inspect(): ..."])
    done.stdout.fnmatch_lines(["ERROR *::test_in_a_fixture - UnhealthyError: AG202*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("'warning'", "*keyword arguments*fail_on='warning'"),
        ("fail_om='error'", "no argument 'fail_om'; did you mean 'fail_on'?"),
        ("fail_on='sometimes'", "fail_on *'error' or 'warning', not 'sometimes'"),
        ("fail_on=[]", "fail_on *'error' or 'warning', not [[]]"),
        ("fail_on=None", "fail_on=None checks nothing*"),
        ("ignore=406", "ignore *('AG406',), not 406"),
        ("ignore=('X1',)", "ignore: unknown rule code or prefix: 'X1' *"),
        ("values='yes'", "values *True or False, not 'yes'"),
    ],
)
def test_mistyped_markers(session, arguments, said):
    """The test fails in one line that says what to write, and does not run; the other tests do."""
    marked = f"@pytest.mark.autograd_healthy({arguments})\ndef test_it():\n    print('it ran')\n"
    done = session(f"{marked}def test_other():\n    pass\n", program="import pytest\n")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines([f"@pytest.mark.autograd_healthy: {said}", "FAILED *::test_it*"])
    for absent in ("Traceback", "it ran", "pytest_plugin.py"):
        assert absent not in done.stdout.str().split("FAILURES")[1]


def test_a_mistyped_marker_of_a_class_or_an_expected_failure(session):
    """Each test under it fails, also one that is expected to fail for another reason."""
    done = session(
        "@pytest.mark.autograd_healthy(fail_om='error')\nclass TestSteps:\n"
        "    @pytest.mark.autograd_healthy\n    def test_one(self):\n        pass\n"
        "    @pytest.mark.xfail\n    def test_two(self):\n        pass\n"
    )
    done.assert_outcomes(failed=2)
    assert done.stdout.str().count("@pytest.mark.autograd_healthy: no argument 'fail_om'") >= 2


def test_a_story_ends_in_the_test(session):
    """Nothing of pytest is part of a report's call chains, with the marker and with the fixture."""
    tests = (
        (
            "def test_block(autograd_inspect):\n    with autograd_inspect() as seen:\n        unhealthy()\n"
            "    outer(seen)\n    seen._report = None\n"
            "@pytest.fixture\ndef later(request):\n    yield\n"
            "    from autograd_inspector.integrations.pytest_plugin import _CHECKS\n"
            "    outer(request.node.stash[_CHECKS]._blocks[0].inspection)\n"
            "@pytest.mark.autograd_healthy(ignore='AG')\ndef test_marked(later):\n    unhealthy()\n"
            "def outer(seen):\n    for site in seen.report.capture.sites:\n"
            "        assert all('test_a_story' in frame.filename for frame in site.frames), site\n"
        )
        .replace("    seen._report = None\n", "")
        .replace("autograd_inspect() as", "autograd_inspect(fail_on=None) as")
    )
    session(tests.replace("ignore='AG'", "ignore='AG2'")).assert_outcomes(passed=2)


def test_start_up(tmp_path):
    """Found as an installed plugin, it costs a session that does not use it no import of torch."""
    info = tmp_path / "a_copy-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-copy\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[pytest11]\nautograd_inspector = autograd_inspector.integrations.pytest_plugin\n"
    )
    (info / "RECORD").write_text("autograd_inspector/__init__.py,,\n")
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('autograd_inspector')\n"
        "    ours = [name for name in sys.modules if name.startswith('autograd_inspector')]\n"
        "    assert len(ours) == 4, ours\n    assert 'torch' not in sys.modules and 'msgspec' not in sys.modules\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(autograd_inspector.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "autograd_inspector", str(tmp_path)],
        # Of all installed plugins only this one, by the name of its entry point: the others take their time.
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
