"""accelerate: ``accumulate()`` of an inspector instead of that of the Accelerator."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Unpack

from accelerate import Accelerator

from autograd_inspector.api.report import Report
from autograd_inspector.integrations.delivery import add_text, counts_of
from autograd_inspector.integrations.options import Options
from autograd_inspector.integrations.stepwise import Reported, Stepwise


class AutogradInspector(Reported):
    """Inspects the first step, every K-th and the one that raises.

    ::

        inspector = AutogradInspector(accelerator, first=1, every=1000)
        for batch in loader:
            with inspector.accumulate(model):  # instead of accelerator.accumulate(model)
                ...

    A step goes from its first micro-batch to the end of the one in which the optimizer steps. Options: see
    :class:`.Options`. ``report`` and ``step`` are the last that were reported. A loop that is left between
    two micro-batches of a step is not noticed until ``close()``, or until the inspector is gone.
    """

    def __init__(self, accelerator: Accelerator, **options: Unpack[Options]) -> None:
        self._accelerator = accelerator
        self._steps = Stepwise(_Trackers(accelerator), options)
        self._steps.start(accelerator.project_dir or ".", main=accelerator.is_main_process)
        self._count = 0
        self._under_way = False
        weakref.finalize(self, self._steps.finish)

    @contextmanager
    def accumulate(self, *models: Any) -> Iterator[None]:
        """One micro-batch: what ``accelerator.accumulate(*models)`` does, observed."""
        accelerator = self._accelerator
        if not self._under_way:
            self._count += 1
            unwrapped = [accelerator.unwrap_model(model) for model in models]
            self._steps.begin(self._count, unwrapped, accelerator._optimizers)  # noqa: SLF001 - what prepare() was given
        self._under_way = True
        try:
            with accelerator.accumulate(*models):
                yield
        except BaseException as error:
            self._under_way = False
            self._steps.failed(error)
            raise
        if accelerator.sync_gradients:
            self._under_way = False
            self._steps.end()

    def close(self) -> None:
        """End a step that is under way, without a report, and write the vitals of the run."""
        self._under_way = False
        self._steps.finish()


class _Trackers:
    """Tells the Accelerator's trackers."""

    def __init__(self, accelerator: Accelerator) -> None:
        self._accelerator = accelerator

    def __call__(self, step: int, report: Report, text: str) -> None:
        self._accelerator.log(counts_of(report), step=step)
        add_text((getattr(tracker, "tracker", None) for tracker in self._accelerator.trackers), text, step)
