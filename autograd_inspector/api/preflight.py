"""``preflight()``: one training step on a copy, before the training."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from autograd_inspector.api.errors import AutogradFindingsError
from autograd_inspector.api.report import Report, report_of
from autograd_inspector.capture.preflight.model_copy import PreflightError
from autograd_inspector.capture.preflight.trial_step import LossFn, checked, try_step
from autograd_inspector.capture.session import Session, caller_frame
from autograd_inspector.model.learning import Learning
from autograd_inspector.views.text.learning import to_text, verdict

__all__ = ["Preflight", "PreflightError", "PreflightFindingsError", "preflight"]


class PreflightFindingsError(AutogradFindingsError):
    """Some trainable parameters do not train, or the step raised."""

    def __init__(self, preflight: Preflight) -> None:
        super().__init__(preflight.report, tuple(f for f in preflight.report.findings if f.severity != "info"))
        self.preflight = preflight
        self.args = (preflight.to_text(),)


class Preflight(Struct, frozen=True):
    """The result of one trial step: what happened to each parameter, and the report on the step.

    ``traceback`` is the traceback of the step as text if it raised, otherwise "".
    """

    parameters: tuple[Learning, ...]
    report: Report
    traceback: str = ""

    @property
    def ok(self) -> bool:
        """True if all trainable parameters got a gradient and changed, and no finding is worse than info."""
        meant = [each for each in self.parameters if each.meant]
        calm = all(finding.severity == "info" for finding in self.report.findings)
        return bool(meant) and all(each.ok for each in meant) and calm and not self.report.capture.error

    @property
    def stuck(self) -> tuple[Learning, ...]:
        """The trainable parameters that got no gradient or did not change."""
        return tuple(each for each in self.parameters if each.meant and not each.ok)

    def raise_for_findings(self) -> None:
        """Raise PreflightFindingsError (an AutogradFindingsError) with all details, unless everything is ``ok``."""
        if not self.ok:
            raise PreflightFindingsError(self)

    def to_text(self) -> str:
        """The verdict, the parameters that did not train and why, the findings with their lines, the traceback."""
        text = to_text(self.parameters, self.report)
        return f"{text}\n{self.traceback}" if self.traceback else text

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Preflight: {verdict(self.parameters, self.report)}>"


def preflight(
    model: Any,
    batch: Any,
    loss_fn: LossFn,
    optimizer: Any,
    *,
    values: bool = False,
    ignore: tuple[str, ...] | list[str] = (),
) -> Preflight:
    """Try one training step, and check whether every trainable parameter gets a gradient and changes.

    ::

        check = autograd_inspector.preflight(model, batch, lambda model, batch: model(**batch).loss, optimizer)
        print(check)
        check.raise_for_findings()

    ``loss_fn(model, batch)`` returns a scalar tensor. It gets copies: afterwards, model, optimizer and random number
    generators are bit-identical to before, even if the step raises (the result then says so). The copies need as much
    memory again. Put model, batch and optimizer state where the training will have them.

    A parameter is trainable if it requires grad and is in the optimizer. If some of them get a gradient of exactly zero
    in the first step, a second step checks whether that persists.

    Raises TypeError for arguments of the wrong type, PreflightError (one line) if the model cannot be copied or
    ``loss_fn`` does not return a scalar loss of the copy, and NestedInspectionError inside a capture.
    """
    inner = checked(model, loss_fn, optimizer)
    session = Session(values=values, stop=caller_frame(1))
    capture, learnings, traceback = try_step(model, batch, loss_fn, inner, session)
    return Preflight(learnings, report_of(capture, ignore=tuple(ignore)), traceback)
