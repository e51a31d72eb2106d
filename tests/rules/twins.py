"""Healthy twins: programs that look like a sick one and of which nothing may be said, values read or not."""

from __future__ import annotations

from .programs import Program, alarms, inspected, summary


def calm(*programs: Program) -> None:
    """Each program ends well and gets no error and no warning, with and without ``values=True``."""
    for program in programs:
        for values in (False, True):
            report = inspected(program, values=values)
            assert not report.capture.error, summary(report)
            assert not alarms(report), f"{program.__name__} is healthy (values={values}):\n{summary(report)}"
            assert not report.notes, report.notes
