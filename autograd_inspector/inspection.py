"""``inspect()``: run a block once and report on it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from autograd_inspector.capture.session import Session, caller_frame
from autograd_inspector.report import Report, report_of


class inspect:  # noqa: N801 - a context manager reads as a verb
    """Observe the autograd of a block.

    ::

        with autograd_inspector.inspect() as inspection:
            step()
        inspection.report

    ``values=True`` lets the inspector read tensor values (NaN, zero gradients); ``ignore`` drops findings by rule
    code or prefix ("AG406", "AG4"). The report is there also when the block raised; the exception passes through.
    """

    def __init__(self, *, values: bool = False, ignore: tuple[str, ...] | list[str] = ()) -> None:
        self._session = Session(values=values, stop=caller_frame(1))
        self._ignore = tuple(ignore)
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        """What was seen; raises RuntimeError while the block still runs."""
        if self._report is None:
            raise RuntimeError("autograd_inspector: the report is there once the `with` block has ended")
        return self._report

    def __enter__(self) -> Self:
        self._session.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._report = report_of(self._session.finish(error), ignore=self._ignore)
