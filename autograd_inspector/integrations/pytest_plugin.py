"""pytest: the marker ``autograd_healthy`` and the fixture ``autograd_inspect``.

pytest imports this file at every start: nothing here imports torch, or the rest of the package, before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from autograd_inspector.api.inspect import inspect
    from autograd_inspector.integrations.pytest_checks import Checks

MARKER = "autograd_healthy"
_HELP = (
    f"{MARKER}(*, fail_on='warning', ignore=(), values=False): inspect the whole test, and fail it with the report's "
    "text when it has a finding at least as severe as fail_on ('error' or 'warning')"
)
_CHECKS: pytest.StashKey[Checks] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _HELP)


class MistypedMarkerError(pytest.fail.Exception):  # type: ignore[name-defined]
    """A marker that would check nothing, or something else: it fails its test, and no other."""

    __module__ = "builtins"


def _options_of(item: pytest.Item) -> dict[str, Any]:
    """What the marker nearest to the test asks for; raises MistypedMarkerError where one of its markers is mistyped."""
    from autograd_inspector.integrations.pytest_checks import options_of

    try:
        nearest, *_ = [options_of(marker.args, marker.kwargs) for marker in item.iter_markers(MARKER)]
    except (TypeError, ValueError) as error:
        raise MistypedMarkerError(f"@pytest.mark.{MARKER}: {error}", pytrace=False) from None
    return {"fail_on": "warning"} | nearest


@pytest.fixture
def autograd_inspect(request: pytest.FixtureRequest) -> Generator[Callable[..., inspect]]:
    """Inspect parts of a test; it fails with the report's text when a part has error findings.

    ::

        def test_step(autograd_inspect):
            with autograd_inspect() as inspection:
                train_step(model, batch)
            assert inspection.report.placement.rows

    ``autograd_inspect(fail_on="warning", ignore=("AG406",), values=True)``; ``fail_on=None`` only looks. Reports are
    checked when the test has ended, so that its own assertions come first. Any number of blocks, one after another.
    """
    from autograd_inspector.integrations.pytest_checks import Checks

    if request.node.get_closest_marker(MARKER) is not None:
        pytest.fail(
            f"autograd_inspect: @pytest.mark.{MARKER} inspects the whole of this test already; use one of the two",
            pytrace=False,
        )
    checks = request.node.stash[_CHECKS] = Checks()
    yield checks.inspect
    checks.conclude(last=True)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Inspect a marked test, and check what was inspected once the test has passed.

    In the call, not in a teardown: pytest then counts a failed test, not an error. Innermost of all wrappers, so that
    the work of other plugins is not part of the report.
    """
    if item.get_closest_marker(MARKER) is not None:
        from autograd_inspector.capture.session import NestedInspectionError, current
        from autograd_inspector.integrations.pytest_checks import Checks

        options = _options_of(item)
        checks = item.stash[_CHECKS] = Checks()
        # Above this frame, which rests while the test runs, is pluggy's, which calls the test.
        block: Any = checks.inspect(**options, _above=3, _around=True)
        if current() is not None:  # the whole session is inspected: autograd-inspect run -m pytest
            pytest.fail(f"@pytest.mark.{MARKER}: {NestedInspectionError()}", pytrace=False)
    elif _CHECKS in item.stash:
        checks, block = item.stash[_CHECKS], nullcontext()
    else:
        return (yield)
    try:
        with block:
            result = yield
    except BaseException:
        checks.dismiss()
        raise
    checks.conclude()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows what was seen of it; in pytest's summary, one line of it."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, MistypedMarkerError):
        # Also where the test is expected to fail: not like this.
        report.outcome = "failed"
        report.longrepr = str(call.excinfo.value)
        vars(report).pop("wasxfail", None)
    if _CHECKS in item.stash and call.excinfo is not None:
        from autograd_inspector.integrations.pytest_checks import shorten

        shorten(report, call.excinfo.value)
    # An expected failure is told as skipped, and shown with -rx.
    if _CHECKS in item.stash and (report.failed or hasattr(report, "wasxfail")):
        checks = item.stash[_CHECKS]
        report.sections += [*checks.patches(color=item.config.get_terminal_writer().hasmarkup), *checks.untold()]
    return report
