"""Captures of what exists already: a graph, an optimizer, a model. Nothing is run and no observer installed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec

from torch import Tensor, nn
from torch.optim import Optimizer

from autograd_inspector.capture.freezing.freeze import freeze
from autograd_inspector.capture.observers.backward.living import walk_roots
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.optimizers.known import Optimizers
from autograd_inspector.capture.recording.recording import Recording, new_recording
from autograd_inspector.capture.tensors.attributes import needs_grad, node_of
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.capture.torch_private.resolving import UnsupportedTorch, check
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.steps_history import History

P = ParamSpec("P")


def _where_supported(capture: Callable[P, Capture]) -> Callable[P, Capture]:
    """An empty capture that says so where this version of torch cannot be inspected; no mode sees what is read."""

    @functools.wraps(capture)
    def capturing(*args: P.args, **kwargs: P.kwargs) -> Capture:
        try:
            check()
        except UnsupportedTorch as failure:
            text = f"autograd_inspector stopped recording: {failure}"
            return Capture(stopped=text, notes=(text,))
        with DisableTorchFunction():
            return capture(*args, **kwargs)

    return capturing


@_where_supported
def capture_graph(roots: Iterable[Tensor], model: nn.Module | None) -> Capture:
    """The graph behind some tensors."""
    recording, modules = _empty(*([] if model is None else [model]))
    tensors = list(roots)
    for tensor in tensors:
        if node_of(tensor) is None:
            recording.note(
                "A given tensor has no grad_fn: "
                + ("it is a leaf." if needs_grad(tensor) else "it does not require grad, so it has no graph.")
            )
    recording.name_variables(tensors)
    walk_roots(recording, tensors)
    return _done(recording, modules)


@_where_supported
def capture_optimizers(program_optimizers: Iterable[Optimizer], *models: nn.Module) -> Capture:
    """The parameters, gradients and state of some optimizers."""
    recording, modules = _empty(*models)
    optimizers = Optimizers(recording, Guard(recording, _raise))
    for optimizer in program_optimizers:
        optimizers.snapshot(optimizer, optimizers.id_of(optimizer))
    return _done(recording, modules)


@_where_supported
def capture_model(model: nn.Module) -> Capture:
    """A model's parameters."""
    return _done(*_empty(model))


def _empty(*models: nn.Module) -> tuple[Recording, Modules]:
    recording = new_recording(None, values=False)
    modules = Modules(recording, Guard(recording, _raise))
    for model in models:
        modules.scan(model)
    return recording, modules


def _done(recording: Recording, modules: Modules) -> Capture:
    try:
        return freeze(recording, modules, History(), seconds=0.0, error="")
    finally:
        recording.forget()


def _raise(failure: Exception) -> None:
    raise failure
