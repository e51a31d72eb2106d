"""The torch functions that are no plain ops: attribute access, grad-mode switches, engine entries, exports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn import functional as F

from autograd_inspector.capture.lines.attributes import own_attributes
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.calls import by_mode, default_dtype, hooks, nearest, one_element, pickling
from autograd_inspector.capture.observers.calls.arguments import note_numbers
from autograd_inspector.capture.observers.calls.calling import Calling
from autograd_inspector.capture.observers.calls.clipping import limit_of
from autograd_inspector.capture.observers.calls.refusals import called
from autograd_inspector.capture.observers.calls.regions import outside
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.several_ranks import several_ranks
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad, retains_grad, shape_of, version_of
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.torch_private.calls import QUESTIONS, OpOverload
from autograd_inspector.capture.torch_private.modes import set_grad_enabled
from autograd_inspector.capture.torch_private.tensors import HOOKS
from autograd_inspector.model.event import GradRead, GradWrite
from autograd_inspector.model.op import Trait, Write
from autograd_inspector.model.program_events import RequiresGradCompared, RequiresGradKept

Handler = Callable[[Calling, Any, tuple[Any, ...], dict[str, Any]], Any]

_TENSOR_ATTRIBUTES = {"data", "grad", "requires_grad", "T", "mT", "H", "mH", "real", "imag", HOOKS}
_SET_ATTRIBUTES = {"data", "grad", "requires_grad", HOOKS}
_QUESTIONS = [
    "size",
    "stride",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "element_size",
    "storage_offset",
    "data_ptr",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "is_same_size",
    "is_set_to",
    "is_shared",
    "is_pinned",
    "is_inference",
    "get_device",
    "has_names",
    "type",
    "untyped_storage",
    "storage",
    "storage_type",
    "__len__",
    "__hash__",
    "__dir__",
    "is_neg",
    "is_conj",
    "__contains__",
    "dim_order",
    "layout",
]
_EXPORTS = [
    "item",
    "tolist",
    "numpy",
    "__array__",
    "__float__",
    "__int__",
    "__bool__",
    "__index__",
    "__complex__",
    "__dlpack__",
    "__reduce_ex__",
]


def _descriptors() -> dict[str, Any]:
    descriptors: dict[str, Any] = {}
    for owner in reversed(torch.Tensor.__mro__):
        for name, member in vars(owner).items():
            if type(member).__name__ == "getset_descriptor" or isinstance(member, property):
                descriptors[name] = member  # noqa: PERF403 - later classes of the MRO overrule earlier ones
    return descriptors


def _pass_through() -> frozenset[Any]:
    functions: set[Any] = set()
    for name, member in _descriptors().items():
        getter = getattr(member, "__get__", None)
        setter = getattr(member, "__set__", None)
        if name not in _TENSOR_ATTRIBUTES and getter is not None:
            functions.add(getter)
        if name not in _SET_ATTRIBUTES and setter is not None:
            functions.add(setter)
    functions.update(getattr(Tensor, name) for name in _QUESTIONS if callable(getattr(Tensor, name, None)))
    functions.update({torch.is_floating_point, torch.is_complex, torch.numel, torch.is_same_size, torch.is_tensor})
    functions.update({Tensor.backward, torch.autograd.backward, torch.autograd.grad})
    functions.update({torch.result_type, set_grad_enabled, *QUESTIONS})
    return frozenset(functions)


PASS = _pass_through()
"""Calls that neither make nor change a tensor, those that run the engine, which is observed itself, and the switch of
the grad mode, which the recorder follows."""

EXPORTS = frozenset(getattr(Tensor, name) for name in _EXPORTS if hasattr(Tensor, name))
"""Calls through which a value leaves torch."""

FROM_PYTHON = frozenset({torch.tensor, torch.as_tensor, torch.asarray, torch.full, torch.full_like})
"""Calls that make a tensor out of Python or NumPy values."""

IN_C = Kinds(BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType)
_OVERLOADS = (OpOverload,) if isinstance(OpOverload, type) else ()
FUNCTIONS = frozenset(map(id, (FunctionType, MethodType, type, *IN_C.kinds, *_OVERLOADS)))
"""By identity, the kinds of what is looked up among torch's functions. Another object that is called is the program's,
or a library's: it may refuse to be hashed, and compute its name."""


def is_torchs(func: Any) -> bool:
    """Whether torch itself defines a function. One of the program's may hold tensors, and is made anew at each call."""
    kind = type(func)
    return classify(func.__code__.co_filename) == SKIP if kind is FunctionType else kind in IN_C


def name_of(func: Any) -> str:
    """The field's name of a torch function: ``add_``, ``linear``, ``T`` (an attribute)."""
    if id(type(func)) not in FUNCTIONS:
        given = (own_attributes(func) or {}).get("__name__")
        return given if type(given) is str else type(func).__name__
    name = str(getattr(func, "__name__", "") or type(func).__name__)
    if name in {"__get__", "__set__"}:
        name = str(getattr(getattr(func, "__self__", None), "__name__", name))
    # Of an overload of a dispatched op, as compiled graphs call them: ``detach.default``.
    return name.partition(".")[0] if isinstance(func, OpOverload) else name


def _normalise(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A norm in training mode updates its running statistics without moving their counters (torch 2.13)."""
    names, training = _STATISTICS[func]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    trains = arguments.get("training", arguments.get("use_input_stats", training))

    def silent() -> list[Write]:
        recording = recorder.recording
        if not trains:
            return []
        writes = []
        for name in ("running_mean", "running_var"):
            tensor = arguments.get(name)
            if isinstance(tensor, Tensor):
                entry = recording.registry.enter(tensor, -1, len(recording.ops))
                version = version_of(tensor)
                writes.append(Write(entry.tensor, entry.storage, version, version))
        return writes

    traits = by_mode.of_norm(arguments, training=trains)
    return recorder.record(func, args, kwargs, name_of(func), traits, silent=silent)


def _with_trait(trait: Callable[[tuple[Any, ...], dict[str, Any]], int]) -> Handler:
    """A handler that records of the call what its arguments tell."""

    def handler(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return recorder.record(func, args, kwargs, name_of(func), trait(args, kwargs))

    return handler


def _dropout(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    traits = by_mode.told(func, by_mode.of_dropout(args, kwargs), recorder.recording.passed, sys._getframe(1))
    return recorder.record(func, args, kwargs, name_of(func), traits)


_FUNCTIONAL = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
_NATIVE = ("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps")
_STATISTICS: dict[Any, tuple[tuple[str, ...], bool]] = {
    F.batch_norm: (_FUNCTIONAL, False),
    F.instance_norm: (_FUNCTIONAL, True),
    torch.batch_norm: (_NATIVE, False),
    torch.native_batch_norm: (_NATIVE, False),
    torch.instance_norm: (_NATIVE, True),
}


def _arange(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Where it begins tells whose rows of all ranks' it numbers."""
    recording = recorder.recording
    now = len(recording.ops)
    result = recorder.record(func, args, kwargs, name_of(func))
    if len(recording.ops) > now:
        recorder.guard.run(note_numbers, recording, now, args, kwargs)
    return result


def _after(step: Callable[..., None]) -> Handler:
    """A handler that makes the call and then lets ``step(recorder, args, result)`` note what it was."""

    def handler(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = called(recorder, func, args, kwargs)
        recorder.guard.run(step, recorder, args, result)
        return result

    return handler


def _read_grad(recorder: Calling, args: tuple[Any, ...], result: Any) -> None:
    recording, tensor = recorder.recording, args[0]
    caller = outside(sys._getframe(1))
    if caller is not None and caller.f_code.co_name == "zero_grad" and classify(caller.f_code.co_filename) == SKIP:
        return  # torch's own zero_grad looks whether there is one.
    leaf = is_leaf(tensor)
    retains = not leaf and retains_grad(tensor)
    gradient = recording.id_of(result) if isinstance(result, Tensor) else -1
    number = recording.id_of(tensor)
    if number not in recording.named and number not in recording.variables and type(tensor) is Parameter:
        recording.adopt((tensor,))  # Of a model that is never called: what is clipped may be another one's.
    site, limit = recording.stacks.here(), limit_of(caller)
    asks = gradient < 0 and caller is not None and recording.compared.asks_whether_none(caller)
    compares = limit >= 0 and recording.values is not None and isinstance(result, Tensor) and several_ranks()
    digest = fingerprint(result) if compares else None
    recording.grad_reads.append(
        GradRead(len(recording.ops), number, gradient, site, leaf, retains, limit, asks, digest)
    )


def _write_grad(recorder: Calling, args: tuple[Any, ...], _: Any) -> None:
    recording = recorder.recording
    gradient = recording.id_of(args[1]) if isinstance(args[1], Tensor) else -1
    recording.grad_writes.append(
        GradWrite(len(recording.ops), recording.id_of(args[0]), gradient, recording.stacks.here())
    )


def _read_data(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return recorder.record(func, args, kwargs, "data", int(Trait.ALIAS))


def _write_data(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    shape = recorder.guard.run(_shape_before, recorder.recording, args[0])
    result = recorder.call(func, args, kwargs)
    recorder.guard.run(_data_written, recorder.recording, args[0], args[1], shape)
    return result


def _shape_before(recording: Recording, tensor: Tensor) -> Any:
    recording.id_of(tensor)
    return shape_of(tensor)


def _data_written(recording: Recording, tensor: Tensor, source: Tensor, shape: Any) -> None:
    entry = recording.registry.enter(tensor, -1, len(recording.ops))
    storage = recording.registry.storage_of(tensor)
    if source is tensor:
        return
    version, number = version_of(tensor), recording.id_of(source)
    same = storage == entry.storage and shape_of(tensor) == shape  # It has that memory already: nothing is written.
    read = (number, entry.tensor) if same else (number,)
    writes = () if same else (Write(entry.tensor, entry.storage, version, version),)
    entry.storage = storage
    recording.append(
        "set_data", read, (), writes, site=recording.stacks.here(), versions=(version_of(source), version)[: len(read)]
    )


def _read_requires_grad(recorder: Calling, args: tuple[Any, ...], _: Any) -> None:
    recording, frame = recorder.recording, outside(sys._getframe(1))
    wanted = None if frame is None else recording.compared.wanted(frame)
    if frame is not None and wanted is not None and is_leaf(args[0]):
        tensor = recording.id_of(args[0])
        if recording.compared.first(frame, tensor):
            recording.events.append(RequiresGradCompared(len(recording.ops), recording.stacks.here(), tensor, wanted))


def _set_requires_grad(recorder: Calling, args: tuple[Any, ...], _: Any) -> None:
    recording, tensor = recorder.recording, args[0]
    entry = recording.registry.enter(tensor, -1, len(recording.ops))
    wanted = needs_grad(tensor)
    if wanted != entry.requires_grad or entry.tensor == len(recording.registry.facts) - 1:
        entry.requires_grad = wanted
        recording.requires_grad_changed(entry.tensor, requires_grad=wanted)
    elif not wanted:
        event = RequiresGradKept(len(recording.ops), recording.stacks.here())
        chain = recording.stacks.chains[event.site] if event.site >= 0 else []
        if chain and not chain[0][2] and event not in recording.events[-1:]:
            recording.events.append(event)


def _export(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    result = called(recorder, func, args, kwargs)
    recorder.guard.run(recorder.recording.exports.left, recorder.recording, name_of(func), args[0], result)
    return result


def _shown(recorder: Calling, args: tuple[Any, ...], text: Any) -> None:
    recording = recorder.recording
    entry = recording.registry.entry_of(args[0])
    if entry is not None:
        recording.registry.looked_at.add(entry.tensor)
    recording.exports.shown(recording, str(text))


def _from_python(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    recording = recorder.recording
    before = len(recording.ops)
    result = recorder.record(func, args, kwargs, name_of(func))
    recorder.guard.run(recording.exports.came_back, recording, before, args)
    recorder.guard.run(default_dtype.made, recorder, args, kwargs, result)
    return result


def factory(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Which dtype ``torch.zeros(3)`` gets the program may have changed."""
    result = recorder.record(func, args, kwargs, name_of(func))
    recorder.guard.run(default_dtype.made, recorder, args, kwargs, result)
    return result


def _shape_only(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``zeros_like(x)`` takes x's shape, dtype and device, none of its values: x is no input."""
    result = called(recorder, func, args, kwargs)
    recorder.guard.run(_made, recorder.recording, name_of(func), result)
    return result


def _made(recording: Recording, name: str, result: Tensor) -> None:
    entry = recording.registry.enter(result, len(recording.ops), len(recording.ops))
    recording.append(name, outputs=(entry.tensor,), site=recording.stacks.here())


def _first_only(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``x.type_as(y)`` takes y's dtype, none of its values: only x is an input, and a copy is made of x alone."""
    rest, named = args[1:], kwargs

    def call(first: Any) -> Any:
        return func(first, *rest, **named)

    return recorder.record(call, args[:1], {}, name_of(func))


_LIKE = ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "randint_like"]
_NEW = ["new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided"]
_AS = ["type_as", "view_as", "expand_as", "reshape_as"]


def _specials() -> dict[Any, Handler]:
    members = _descriptors()
    table: dict[Any, Handler] = {
        members["grad"].__get__: _after(_read_grad),
        members["grad"].__set__: _after(_write_grad),
        members["data"].__get__: _read_data,
        members["data"].__set__: _write_data,
        members["requires_grad"].__get__: _after(_read_requires_grad),
        members["requires_grad"].__set__: _after(_set_requires_grad),
        Tensor.requires_grad_: _after(_set_requires_grad),
    }
    hooks_of = members.get(HOOKS)
    if hooks_of is not None:
        table |= {hooks_of.__get__: pickling.read_hooks, hooks_of.__set__: pickling.set_hooks}
    table[Tensor.register_hook] = _after(hooks.registered)
    table[Tensor.register_post_accumulate_grad_hook] = _after(hooks.registered_post)
    table[Tensor.retain_grad] = called
    table |= dict.fromkeys(EXPORTS, _export)
    table |= dict.fromkeys([Tensor.__repr__, Tensor.__format__], _after(_shown))
    table |= dict.fromkeys(_STATISTICS, _normalise)
    table |= dict.fromkeys(by_mode.DROPOUTS, _dropout)
    table[F.scaled_dot_product_attention] = _with_trait(by_mode.of_attention)
    table |= dict.fromkeys(by_mode.RECURRENT, _with_trait(by_mode.of_recurrent))
    table |= dict.fromkeys(one_element.SOFTMAXES, _with_trait(one_element.of_softmax))
    table[F.cross_entropy] = _with_trait(one_element.of_cross_entropy)
    table[F.grid_sample] = _with_trait(nearest.of_grid_sample)
    table[torch.arange] = _arange
    table |= dict.fromkeys(FROM_PYTHON, _from_python)
    table |= dict.fromkeys([getattr(torch, name) for name in _LIKE], _shape_only)
    table |= dict.fromkeys([getattr(Tensor, name) for name in _NEW], _shape_only)
    table |= dict.fromkeys([getattr(Tensor, name) for name in _AS], _first_only)
    table[Tensor.__deepcopy__] = _first_only  # Its memo holds whatever was copied before.
    return table


SPECIAL = _specials()
"""Calls with a handler of their own."""
