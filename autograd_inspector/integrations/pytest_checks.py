"""What the pytest plugin does once a test uses it: inspect, and fail with the report's text."""

from __future__ import annotations

import inspect as signatures
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pytest
from msgspec import Struct

from autograd_inspector.api.errors import AutogradFindingsError, failure_of, named
from autograd_inspector.api.inspect import inspect
from autograd_inspector.api.report import Report
from autograd_inspector.kernel.rule_codes import codes
from autograd_inspector.kernel.spelling import did_you_mean
from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.views.text.patch import coloured

LEVELS = ("error", "warning")


class UnhealthyError(AutogradFindingsError, pytest.fail.Exception):  # type: ignore[name-defined]
    """A test that ran well, but has findings: pytest shows the report's text, and no traceback of ours."""

    __module__ = "builtins"  # a line of pytest's summary is short: the name alone, as of pytest's own failures

    def __init__(self, errors: Sequence[AutogradFindingsError]) -> None:
        findings: tuple[Finding, ...] = tuple(finding for error in errors for finding in error.findings)
        super().__init__(errors[0].report, findings)
        self.pytrace = False
        # The first line is for pytest's summary: ``shorten``.
        self.msg = "\n".join([named(findings), "", *(error.report.to_text() for error in errors)]).rstrip("\n")


class _Block(Struct):
    inspection: inspect
    fail_on: Severity | None
    concluded: bool = False
    reported: bool = False
    failed: bool = False
    """It failed the test, and its edits are still to be shown."""

    @property
    def report(self) -> Report | None:
        """None while the block runs, or when it was never entered."""
        try:
            return self.inspection.report
        except RuntimeError:
            return None


class Checks:
    """The inspected blocks of one test."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def inspect(
        self,
        *,
        fail_on: Severity | None = "error",
        ignore: str | Sequence[str] = (),
        values: bool = False,
        compiled: Literal["as it is", "eager"] = "as it is",
        _above: int = 2,
        _around: bool = False,
    ) -> inspect:
        """A block whose report is checked when the test has ended; ``fail_on=None``: it is not.

        Raises ValueError for a level or a rule code that there is not.
        """
        options = _checked(fail_on, ignore)
        block = _Block(
            inspect(values=values, ignore=options, compiled=compiled, _above=_above, _around=_around), fail_on
        )
        self._blocks.append(block)
        return block.inspection

    def conclude(self, *, last: bool = False) -> None:
        """Raise UnhealthyError for the findings of all blocks that have ended since the last time.

        ``last``: a block that has not ended by now was forgotten, and fails the test too.
        """
        errors = []
        for block in self._left():
            if block.report is not None:
                block.concluded = True
                error = failure_of(block.report, block.fail_on)
                if error is not None:
                    block.reported = block.failed = True
                    errors.append(error)
            elif last:
                pytest.fail("autograd_inspect() checks a block: with autograd_inspect(): ...", pytrace=False)
        if errors:
            raise UnhealthyError(errors)

    def dismiss(self) -> None:
        """The test failed by itself: that is its outcome, whatever was found."""
        for block in self._left():
            block.concluded = True

    def patches(self, *, color: bool) -> list[tuple[str, str]]:
        """Sections for pytest: the edits of the findings that failed the test, as a patch, each once."""
        reports = [block.report for block in self._blocks if block.failed and block.report is not None]
        for block in self._blocks:
            block.failed = False
        patch = "".join(dict.fromkeys(report.to_patch() for report in reports))
        return [("autograd inspector, edits", coloured(patch) if color else patch)] if patch else []

    def untold(self) -> list[tuple[str, str]]:
        """Sections for pytest: the reports that no failure has told, each once."""
        sections = []
        for number, block in enumerate(self._blocks, 1):
            if block.report is not None and not block.reported:
                block.reported = True
                name = "autograd inspector" if len(self._blocks) == 1 else f"autograd inspector, block {number}"
                sections.append((name, block.report.to_text()))
        return sections

    def _left(self) -> Iterator[_Block]:
        return (block for block in self._blocks if not block.concluded)


def shorten(report: pytest.TestReport, raised: BaseException) -> None:
    """Keep pytest's summary to one line.

    With -vv, or where CI is set, pytest quotes there all that a failure says, which is told above it already.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    if isinstance(raised, UnhealthyError) and crash is not None:
        crash.message = crash.message.partition("\n")[0]


def options_of(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """A marker's arguments as those of ``Checks.inspect``; raises TypeError or ValueError in one line."""
    if arguments:
        raise TypeError(f"takes keyword arguments only, such as fail_on={arguments[0]!r}")
    accepted = [name for name in signatures.signature(Checks.inspect).parameters if not name.startswith(("_", "self"))]
    for name in keywords:
        if name not in accepted:
            there_are = f"; the arguments are {', '.join(accepted)}"
            raise TypeError(f"no argument {name!r}{did_you_mean(name, accepted) or there_are}")
    if "fail_on" in keywords and keywords["fail_on"] is None:
        raise ValueError("fail_on=None checks nothing; leave the marker out, or use the fixture autograd_inspect")
    _checked(keywords.get("fail_on"), keywords.get("ignore", ()))
    if not isinstance(keywords.get("values", False), bool):
        raise TypeError(f"values must be True or False, not {keywords['values']!r}")
    if keywords.get("compiled", "as it is") not in {"as it is", "eager"}:
        raise ValueError(f"compiled must be 'as it is' or 'eager', not {keywords['compiled']!r}")
    return dict(keywords)


def _checked(fail_on: Any, ignore: Any) -> tuple[str, ...]:
    if fail_on is not None and fail_on not in LEVELS:
        raise ValueError(f"fail_on must be 'error' or 'warning', not {fail_on!r}")
    texts = (ignore,) if isinstance(ignore, str) else ignore
    if not isinstance(texts, list | tuple | set | frozenset) or not all(isinstance(code, str) for code in texts):
        raise TypeError(f"ignore takes rule codes such as ('AG406',), not {ignore!r}")
    try:
        return tuple(code for text in texts for code in codes(text))
    except ArgumentTypeError as error:
        raise ValueError(f"ignore: {error}") from None
