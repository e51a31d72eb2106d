"""AG503: graphs taken where they cannot go."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.kept_tensors import kept_as, kept_by, kept_places, stored_detached
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import TensorHeld
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, join_names

_SERIALIZED = (TorchError.NON_LEAF_SENT, TorchError.DEEPCOPY_OF_NON_LEAF)
_WORKER = "in DataLoader worker process"
"""A worker collates into shared memory through out=, which a tensor with a graph refuses."""


def check(analysis: Analysis) -> Iterator[Problem]:
    """A tensor that still carries its graph is pickled, deep-copied or sent to a worker process.

    Why it matters
        A graph cannot leave its process. DataLoader workers raise far away from the line that computed the tensor;
        plain pickling silently drops the graph.

    Example
        ::

            items = encoder(x)
            copy.deepcopy(items)

    Fix
        ::

            items = encoder(x).detach()
            copy.deepcopy(items)

    References
        torch.multiprocessing; torch.utils.data.DataLoader (num_workers).
    """
    error = analysis.capture.error
    in_worker = _WORKER in error and says(error, TorchError.OUT_ARGUMENT)
    if not (says(error, *_SERIALIZED) or in_worker):
        return
    failed = [op for op in raising(analysis.capture) if says(op.error, *_SERIALIZED)]
    held = _held(analysis, failed)
    names = [name_of(analysis, t) for t in held]
    made = [place for t in held[:4] for place in _made(analysis, t)]
    keeper = kept_by(analysis, held[0]) if len(held) == 1 else None
    stored = [place for t in held[:4] for place in kept_places(analysis, kept_by(analysis, t))]
    where = [place for op in failed for place in analysis.user_frames(op.site, "serialized here")]
    copied = says(error, TorchError.DEEPCOPY_OF_NON_LEAF)
    carry = agree(held or [""], "carries its", "carry their")
    yield Problem(
        "error",
        f"{join_names(names) or 'a tensor'}{kept_as(keeper, names[0]) if names else ''} still {carry} graph (requires_grad, with a grad_fn) and "
        f"{agree(held or [''], 'was', 'were')} {'deep-copied' if copied else 'sent to another process'}: autograd "
        "graphs cannot be copied or sent",
        _fix(analysis, held, "Copy" if copied else "Send", keeper),
        (*stored, *made, *(where or analysis.user_frames(analysis.capture.error_site, "serialized here"))),
        tuple(names),
        cures=tuple(
            (Substitute(place, "", "{}.detach()"),)
            for places, elsewhere in ((stored, True), (made, False))
            for place in places[:1]
            if not any(_differentiated(analysis, t, elsewhere=elsewhere) for t in held[:4])
        ),
    )


def _differentiated(analysis: Analysis, tensor: int, *, elsewhere: bool) -> bool:
    """Whether the program computes with it what may be differentiated; ``elsewhere``: in another function than made it."""
    capture, made = analysis.capture, analysis.flow.birth(tensor)
    home = capture.place(made.site) if made is not None and elsewhere else None
    readers = (capture.ops[index] for index in capture.readers.get(tensor, ()))
    places = (capture.place(op.site) for op in readers if op.recorded)
    return any(place is not None and (home is None or place.scope != home.scope) for place in places)


def _held(analysis: Analysis, failed: list[Op]) -> list[int]:
    """The tensors to blame, which have a history: parameters are leaves, and may be copied and sent."""
    capture = analysis.capture
    serialized_tensors = [t for op in failed for t in op.inputs] or (
        [capture.error_tensor] if capture.error_tensor >= 0 else []
    )
    attached = [
        t
        for t in serialized_tensors or capture.alive
        if capture.tensors[t].requires_grad and not capture.tensors[t].leaf
    ]
    # Of all that is alive, what the program has a variable for, rather than what its graph alone may hold.
    named = [] if serialized_tensors else [t for t in attached if capture.tensors[t].variable]
    return list(dict.fromkeys(named or attached))


def _is_attribute(name: str) -> bool:
    """Whether the program goes on computing with what is stored there."""
    return "." in name and " " not in name


def _fix(analysis: Analysis, held: list[int], verb: str, keeper: TensorHeld | None) -> str:
    """Detach what is stored or sent, and not what the program goes on computing with."""
    elsewhere = "or compute it under torch.no_grad() if it needs no gradient."
    if len(held) != 1:
        return f"{verb} a detached tensor (`.detach()`), {elsewhere}"
    name = name_of(analysis, held[0])
    stored = "" if _is_attribute(name) else stored_detached(analysis, keeper, "detach()")
    if stored:
        return f"{stored[0].upper()}{stored[1:]}, {elsewhere}"
    if not assignable(name, analysis, held[0]):
        return f"Detach {name} first (`.detach()`), {elsewhere}"
    if name.isidentifier():
        return f"{verb} `{name}.detach()` instead of {name}, {elsewhere}"
    return (
        f"Store a detached copy in {name}, and keep the tensor itself under another name: "
        f"`{name} = features.detach()`, where `features` is the tensor stored there now."
    )


def _made(analysis: Analysis, tensor: int) -> tuple[Location, ...]:
    made = analysis.flow.birth(tensor)
    return analysis.user_frames(made.site, "computed with its graph here") if made is not None else ()
