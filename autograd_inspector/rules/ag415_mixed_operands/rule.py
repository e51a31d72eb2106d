"""AG415: parameters and tensors of different dtypes, on different devices, or spread over ranks, met in one op."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.advice.naming import layer_of, name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import ends
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.operand_origins import Origin, Origins, Property
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import (
    DefaultDtypeMet,
    ModelLoaded,
    ParameterRegistered,
    ParametersConverted,
    SavedTensorUnpacked,
)
from autograd_inspector.model.remedy import Operand, Remedies, SetArgument
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import join_names
from autograd_inspector.rules.ag415_mixed_operands.gradients import gradients_shards_and_whole


def check(analysis: Analysis) -> Iterator[Problem]:
    """An op got a parameter and a tensor with a different dtype or device.

    Why it matters
        The error is raised where the two meet. The cause is elsewhere: a part of the model was converted or moved,
        `load_state_dict(..., assign=True)` replaced the parameters with the checkpoint's tensors, or the data are
        float64.

    Example
        ::

            net.load_state_dict({"0.weight": torch.ones(4, 4).bfloat16()}, strict=False, assign=True)
            net(x)

    Fix
        ::

            net.load_state_dict({"0.weight": torch.ones(4, 4).bfloat16()}, strict=False)
            net(x)

    References
        torch.nn.Module.load_state_dict (assign), torch.nn.Module.to.
    """
    yield from _unpacked(analysis)
    for op in raising(analysis.capture):
        if op.error and not op.has(Trait.OPAQUE) and ends(analysis.capture, op):
            if says(op.error, TorchError.OTHER_DTYPES):
                yield from _mixed(analysis, op, _dtype)
            elif says(op.error, TorchError.OTHER_DEVICES):
                yield from _mixed(analysis, op, _device)
            elif says(op.error, TorchError.SHARDS_AND_WHOLE):
                yield from _shards_and_whole(analysis, op)


def _unpacked(analysis: Analysis) -> Iterator[Problem]:
    """What a saved-tensor hook hands back in backward, where an op of backward refuses its dtype."""
    events = analysis.capture.events_of(SavedTensorUnpacked)
    for run in analysis.capture.backwards if events else ():
        failed = next((node for node in analysis.nodes_of(run) if node.failed), None) if run.error else None
        met = [event for event in events if run.start <= event.at <= run.end]
        if not met or not says(run.error, TorchError.OTHER_DTYPES):
            continue
        if failed is not None and all(saved.status != "packed" for saved in failed.saved):
            continue
        names = [event.api for event in met]
        yield Problem(
            "error",
            f"{join_names(names)} unpacks the tensors that are saved for backward, and an op of backward() got another dtype "
            "than the tensor had that was packed",
            "Let the unpack hook return what the pack hook got, with the same dtype, device and shape: keep the dtype beside "
            "the packed tensor, and cast it back with `.to(dtype)`.",
            analysis.places(
                *((event, "unpacked here") for event in met),
                *(
                    (analysis.capture.ops[failed.op], "saved here")
                    for _ in met[:1]
                    if failed is not None and failed.op >= 0
                ),
                (run, "backward called here"),
            ),
            tuple(names),
        )


def _shards_and_whole(analysis: Analysis, op: Op) -> Iterator[Problem]:
    """A parameter that is spread over the ranks, and a tensor that this rank has for itself."""
    spread = {row.tensor: row for row in analysis.capture.placement.rows if row.sharding is not None}
    shards = [tensor for given in op.inputs if (tensor := _viewed(analysis, given, spread)) >= 0]
    if not shards:
        yield from gradients_shards_and_whole(analysis, op)
        return
    gathered = next((e for e in analysis.reductions.sharded_models if not set(shards).isdisjoint(e.tensors)), None)
    names = [name_of(analysis, tensor) for tensor in shards]
    layer = layer_of(analysis, op)
    where = f"`{op.name}`{f' in {layer}' if layer else ''}"
    yield Problem(
        "error",
        f"{where} got {join_names(names, 3)}, of which each rank holds a part (DTensor), together with an ordinary tensor"
        + (
            f": {gathered.api}() gathers parameters only for the forward of the module that it was called for, and that forward "
            "does not run here"
            if gathered is not None
            else ""
        ),
        "Call the sharded module itself, with the loss in its forward. Or name the method that the program calls: "
        "`register_fsdp_forward_method(model, ...)` of torch.distributed.fsdp."
        if gathered is not None
        else "Make the other tensor a DTensor, too: `distribute_tensor(x, mesh, [Replicate()])`, or PrepareModuleInput in the plan of "
        "parallelize_module.",
        (
            *analysis.user_frames(op.site, "used together here"),
            *analysis.places(*(((gathered, "sharded here"),) if gathered is not None else ())),
        ),
        tuple(names),
        ops=(op.index,),
    )


def _viewed(analysis: Analysis, tensor: int, spread: Collection[int]) -> int:
    """The parameter that a tensor is, or is a view of: ``weight.t()``; -1 where that is none of those."""
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    while tensor not in spread:
        birth = tensors[tensor].birth
        if birth < 0 or not is_a(ops[birth].name, OpKind.VIEWS) or not ops[birth].inputs:
            return -1
        tensor = ops[birth].inputs[0]
    return tensor


def _dtype(record: TensorRecord) -> str:
    return record.dtype if differentiable(record.dtype) else ""


def _device(record: TensorRecord) -> str:
    return record.device


def _mixed(analysis: Analysis, op: Op, value: Property) -> Iterator[Problem]:
    tensors = analysis.capture.tensors
    groups: dict[str, list[int]] = {}
    for tensor in op.inputs:
        if value(tensors[tensor]):
            groups.setdefault(value(tensors[tensor]), []).append(tensor)
    finder = Origins(analysis.capture, analysis.flow)
    met = [max(members, key=lambda t: tensors[t].kind == "parameter") for members in groups.values()]
    origins = [finder.of(tensor, value) for tensor in met]
    if len(met) < 2 or not any(tensors[origin.tensor].kind == "parameter" for origin in origins):
        return
    blamed = sorted(origins, key=lambda origin: _rank(origin, tensors[origin.tensor]))
    given = [f"{name_of(analysis, tensor)} ({value(tensors[tensor])})" for tensor in met]
    layer = layer_of(analysis, op)
    changed = next(filter(None, (_default(analysis, origin, value) for origin in blamed)), None)
    yield Problem(
        "error",
        f"`{op.name}`{f' in {layer}' if layer else ''} got {join_names(given, 3)}"
        f"{_why(analysis, blamed[0], value) if changed is None else _default_why(analysis, *changed)}",
        _fix(analysis, blamed[0], value) if changed is None else _default_fix(changed[1]),
        (
            *(() if changed is None else analysis.user_frames(changed[1].made, "default dtype changed here")),
            *(place for origin in blamed for place in _places(analysis, origin)),
            *analysis.user_frames(op.site, "used together here"),
        ),
        tuple(name_of(analysis, t) for t in (*met, *(origin.tensor for origin in origins))),
        ops=(op.index,),
        cures=(*_cures(analysis, blamed[0]), *(_cast(analysis, op, met) if value is _dtype else ())),
    )


def _default(analysis: Analysis, origin: Origin, value: Property) -> tuple[Origin, DefaultDtypeMet] | None:
    """The change of the default dtype by which a tensor has the dtype that it has."""
    made = origin.made or (analysis.flow.birth(origin.tensor) if origin.event is None else None)
    if made is None or value is not _dtype:
        return None
    has = analysis.capture.tensors[origin.tensor].dtype
    events = analysis.capture.events_of(DefaultDtypeMet)
    # One is noted for each line, after the first op there.
    found = (e for e in events if e.site == made.site and e.after == has and e.at <= made.index + 1)
    return next(((origin, event) for event in found), None)


def _default_why(analysis: Analysis, origin: Origin, event: DefaultDtypeMet) -> str:
    name = name_of(analysis, origin.tensor)
    return f": {event.api} had changed the default dtype from {event.before} to {event.after} when {name} was created"


def _default_fix(event: DefaultDtypeMet) -> str:
    return (
        f"Create what needs {event.after} with `dtype=torch.{event.after}` and leave the default dtype as it is, or set it "
        f"back to {event.before} at once: it applies to the whole process."
    )


def _cures(analysis: Analysis, origin: Origin) -> Iterator[Remedies]:
    """What was loaded is copied into the parameters."""
    if isinstance(origin.event, ModelLoaded):
        places = analysis.user_frames(origin.event.site, "")
        yield from ((SetArgument(place, "load_state_dict", "assign", ""),) for place in places)


def _cast(analysis: Analysis, op: Op, met: list[int]) -> Iterator[Remedies]:
    """What a layer is given gets the dtype of its parameters, where the layer is called."""
    tensors = analysis.capture.tensors
    parameters = {tensors[t].dtype for t in met if tensors[t].kind == "parameter"}
    given = [t for t in met if tensors[t].kind != "parameter"]
    call = analysis.capture.call_of(op)
    if call is None or len(parameters) != 1 or given != [t for t in op.inputs[:1] if t in given]:
        return
    dtype = parameters.pop()
    method = f"{{}}.to(torch.{dtype})" if dtype != "float32" else "{}.float()"
    yield from at_line(analysis, op.site, lambda place: Operand(place, "argument", method))


def _rank(origin: Origin, record: TensorRecord) -> int:
    """What replaced or converted a part of the parameters comes first, what only made a parameter last."""
    if origin.event is not None:
        return 0 if isinstance(origin.event, ModelLoaded) else 1
    if record.device == "meta":
        return 2
    return 3 if origin.made is not None else 4


def _why(analysis: Analysis, origin: Origin, value: Property) -> str:
    name, has = name_of(analysis, origin.tensor), value(analysis.capture.tensors[origin.tensor])
    if isinstance(origin.event, ModelLoaded):
        return f": {origin.event.api} with assign=True replaced {name} with the checkpoint's {has} tensor"
    if isinstance(origin.event, ParametersConverted):
        return f": {origin.event.api} converted {name} to {has}"
    if origin.made is not None and is_a(origin.made.name, OpKind.CONVERTS):
        return f": `{origin.made.name}` converted {name} to {has}"
    return ""


def _fix(analysis: Analysis, origin: Origin, value: Property) -> str:
    what = "dtype" if value is _dtype else "device"
    if isinstance(origin.event, ModelLoaded):
        return (
            f"Load without assign=True, which copies the values into the parameters and keeps their {what}, or convert the "
            "whole model after loading."
        )
    if isinstance(origin.event, ParametersConverted):
        return f"Convert the whole model and its inputs to one {what}."
    name = name_of(analysis, origin.tensor)
    if value is _device and analysis.capture.tensors[origin.tensor].device == "meta":
        return f"Allocate memory for {name} before using it: call `to_empty(device=...)` on its module, or load with assign=True."
    return f"Convert {name} to the {what} of the parameters before calling the model, or convert the model."


def _places(analysis: Analysis, origin: Origin) -> tuple[Location, ...]:
    if origin.event is not None:
        loaded = isinstance(origin.event, ModelLoaded)
        return analysis.user_frames(origin.event.site, "parameters replaced here" if loaded else "converted here")
    if origin.made is not None:
        return analysis.user_frames(origin.made.site, "created here")
    registered = (e for e in analysis.capture.events_of(ParameterRegistered) if e.tensor == origin.tensor)
    return next((analysis.user_frames(event.site, "created here") for event in registered), ())
