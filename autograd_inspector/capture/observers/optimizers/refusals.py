"""What a scaler and a step did not do: the call that raised, and what it was given."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from autograd_inspector.capture.lines.refused import refused_by_scaler
from autograd_inspector.capture.observers.optimizers.knowing import KnownOptimizers
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import ScalerRefused, SparseGradientsMet
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.raised import traceback_of


def note_scaler(recording: Recording, optimizers: KnownOptimizers, error: BaseException) -> None:
    """The program ends with that exception: note which call of a GradScaler raised it."""
    refused = refused_by_scaler(traceback_of(error))
    if refused is not None:
        method, optimizer = refused
        number, kind = optimizers.id_of(optimizer), type(optimizer).__name__
        recording.events.append(ScalerRefused(len(recording.ops), recording.error_site, number, kind, method))


def note_layouts(
    recording: Recording, optimizer: int, kind: str, site: int, error: str, gradients: Iterable[tuple[int, Tensor]]
) -> None:
    """A step raised because of the layout of its gradients: note the (parameter, gradient) pairs that are sparse."""
    if says(error, TorchError.SPARSE_GRADIENT, TorchError.DENSE_GRADIENT):
        sparse = tuple(parameter for parameter, gradient in gradients if gradient.is_sparse)
        recording.events.append(SparseGradientsMet(len(recording.ops), site, optimizer, kind, sparse))
