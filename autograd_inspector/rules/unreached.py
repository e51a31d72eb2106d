"""AG101 to AG106: gradient that does not come back, and which line stops it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Region
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique
from autograd_inspector.rules.severed import NO_GRAD_ERROR, Cause, Severed

INFERENCE_ERRORS = ("Inference tensors cannot be saved for backward", "Inplace update to inference tensor")


@rule("AG101", "detached")
def detached(facts: Facts) -> Iterator[Finding]:
    """A `.detach()`, `.detach_()` or `.data` cuts what is meant to learn.

    Why it matters
        A detached tensor has the same values and no history. What lies behind it gets no gradient: backward raises
        "does not require grad" when nothing else leads to a parameter, and says nothing at all when something does.

    Example
        ::

            hidden = encoder(x).detach()
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            hidden = encoder(x)
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.Tensor.detach; "Autograd mechanics" in the notes of the PyTorch documentation.
    """
    for cut in _caused_by(facts, "detached"):
        op = cut.ops[0]
        what = {"data": ".data", "detach_": ".detach_()"}.get(op.name, ".detach()")
        yield _finding(
            facts,
            "AG101",
            cut,
            f"{what} cuts {_described(facts, cut, op)} from the graph{_effect(facts, cut)}",
            f"Use the tensor itself instead of {what} where gradient has to flow; keep {what} for logging.",
            facts.chain(op.site, "detached here"),
        )


@rule("AG102", "no-grad-region")
def no_grad_region(facts: Facts) -> Iterator[Finding]:
    """Computed while grad mode was off: a `no_grad` block, a decorator, or a mode that leaked.

    Why it matters
        Under `torch.no_grad()` or `torch.set_grad_enabled(False)` nothing is recorded. Called as a function,
        `set_grad_enabled(False)` stays in force after the helper that called it has returned.

    Example
        ::

            with torch.no_grad():
                features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    References
        torch.no_grad, torch.set_grad_enabled; "Locally disabling gradient computation" in the PyTorch documentation.
    """
    for cut in _caused_by(facts, "no_grad"):
        region = facts.capture.regions[cut.ops[0].region]
        if region.library:
            continue  # torch's own no_grad (initialisation, conversion; checkpointing, which AG106 judges).
        yield _region_finding(facts, "AG102", cut, region)


@rule("AG103", "inference-mode")
def inference_mode(facts: Facts) -> Iterator[Finding]:
    """Computed under `torch.inference_mode()`, or a tensor made there used where autograd records.

    Why it matters
        An inference tensor has no version counter and no history, for good. It cannot be saved for backward, and what
        is computed from parameters under inference mode gives them no gradient.

    Example
        ::

            with torch.inference_mode():
                features = encoder(x)
            head(features).pow(2).mean().backward()

    Fix
        ::

            with torch.no_grad():
                features = encoder(x)
            head(features).pow(2).mean().backward()

    References
        torch.inference_mode; "Inference mode" in the autograd notes of the PyTorch documentation.
    """
    for cut in _caused_by(facts, "inference_mode"):
        yield _region_finding(facts, "AG103", cut, facts.capture.regions[cut.ops[0].region])
    for op in facts.capture.ops:
        if op.error and any(text in op.error for text in INFERENCE_ERRORS):
            yield _inference_tensor(facts, op)


@rule("AG104", "non-differentiable-op")
def non_differentiable(facts: Facts) -> Iterator[Finding]:
    """An op without derivative between the loss and what is meant to learn: argmax, comparison, integer cast, sampling.

    Why it matters
        The result is integer or boolean, or has no derivative formula: nothing behind it learns.

    Example
        ::

            choice = policy(x).argmax(dim=1)
            loss = values(choice).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            weights = policy(x).softmax(dim=1)
            loss = (weights @ values.weight).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        "Gradients for non-differentiable functions" in the autograd notes of the PyTorch documentation.
    """
    for cut in _caused_by(facts, "non-differentiable"):
        op = cut.ops[0]
        yield _finding(
            facts,
            "AG104",
            cut,
            f"`{op.name}` has no derivative: it cuts {_described(facts, cut, op)} from the graph{_effect(facts, cut)}",
            f"Train on the value before `{op.name}` (a probability, a softmax, a straight-through estimator "
            "`soft + (hard - soft).detach()`), and keep the hard value for reporting.",
            facts.chain(op.site, "no derivative here"),
        )


@rule("AG105", "left-autograd")
def left_autograd(facts: Facts) -> Iterator[Finding]:
    """The value went to Python, NumPy, pickle or another process and came back, or was rewrapped by `torch.tensor`.

    Why it matters
        `torch.tensor(loss)`, `loss.item()`, `.numpy()` and collectives copy the value and leave the history behind.
        With `requires_grad=True` on the copy backward even runs: on a graph of one node.

    Example
        ::

            loss = net(x).pow(2).mean()
            loss = torch.tensor(loss.item(), requires_grad=True)
            loss.backward()
            optimizer.step()

    Fix
        ::

            loss = net(x).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.tensor (it always copies); torch.Tensor.item; torch.distributed.nn for collectives with gradient.
    """
    for cut in _caused_by(facts, "left autograd"):
        op = cut.ops[0]
        exports = [o for o in facts.capture.ops[: op.index] if o.name in _WAYS_OUT and set(o.inputs) & set(op.inputs)]
        way = f"`{exports[-1].name}()` and `{_spelled(op)}`" if exports else f"`{_spelled(op)}`"
        yield _finding(
            facts,
            "AG105",
            cut,
            f"{way} made a copy of {joined(map(facts.name, op.inputs), 3)} that has no history"
            f"{_effect(facts, cut)}",
            _rewrap_fix(facts, op),
            unique(
                [*facts.chain(op.site, "rewrapped here")]
                + [place for o in exports[-1:] for place in facts.chain(o.site, "left torch here")]
            ),
        )


@rule("AG106", "no-trainable-input")
def no_trainable_input(facts: Facts) -> Iterator[Finding]:
    """Nothing that reaches the loss requires grad: everything is frozen, or a reentrant checkpoint got no grad input.

    Why it matters
        Backward needs at least one leaf that requires grad. Reentrant checkpointing (`use_reentrant=True`) only
        records when one of its *inputs* does, whatever its parameters say.

    Example
        ::

            for parameter in net.parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    Fix
        ::

            for parameter in net[0].parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    References
        torch.utils.checkpoint.checkpoint (use_reentrant); torch.nn.Module.requires_grad_.
    """
    for run in facts.capture.backwards:
        if NO_GRAD_ERROR not in run.error:
            continue
        checkpoint = _reentrant_checkpoint(facts, run.start, run.roots)
        if checkpoint is not None:
            yield _checkpoint_finding(facts, checkpoint, run.site)
        elif not any(cut.cause != "no_grad" or not _is_checkpoint(facts, cut) for cut in facts.severed):
            yield _all_frozen(facts, run.roots, run.start, run.site)


_WAYS_OUT = {"item", "tolist", "numpy", "__array__", "__float__", "__reduce_ex__"}


def _caused_by(facts: Facts, cause: Cause) -> Iterator[Severed]:
    return (cut for cut in facts.severed if cut.cause == cause)


def _finding(
    facts: Facts, code: str, cut: Severed, message: str, fix: str, locations: tuple[Location, ...], extra: str = ""
) -> Finding:
    from autograd_inspector.rules.catalogue import CATALOGUE

    severity: Severity = "error" if cut.fatal else "warning"
    ends = facts.chain(cut.backward.site, "backward called here")
    names = [facts.name(t) for t in cut.parameters] or [facts.name(t) for t in cut.ops[0].inputs]
    return Finding(
        code,
        CATALOGUE[code].name,
        severity,
        message,
        fix,
        unique([*locations, *ends]),
        tuple(dict.fromkeys(names)),
        tuple(filter(None, [extra])),
        tuple(op.index for op in cut.ops[:64]),
    )


def _region_finding(facts: Facts, code: str, cut: Severed, region: Region) -> Finding:
    op = cut.ops[0]
    api = "torch.inference_mode()" if region.kind == "inference_mode" else "torch.no_grad()"
    if region.at_entry:
        mode = "inference mode was already enabled" if region.kind == "inference_mode" else "grad mode was already disabled"
        why = f"{mode} when the capture began"
        fix = "Call torch.set_grad_enabled(True) first, and switch it off with `with torch.no_grad():` only."
        first: tuple[Location, ...] = ()
    elif region.decorated:
        why = f"`{region.decorated}` is decorated with {api}"
        fix = f"Take the decorator off `{region.decorated}`, or call an undecorated method where gradient has to flow."
        first = (*facts.chain(region.definition, "decorator"), *facts.chain(region.site, "called here"))
    else:
        spelled = "torch.set_grad_enabled(False)" if _calls(facts, region, "set_grad_enabled") else api
        why = f"{spelled} was in force"
        fix = (
            "Use `with torch.no_grad():` around just what needs it: as a function, set_grad_enabled(False) stays on."
            if spelled.startswith("torch.set")
            else f"Move the computation out of the `{api}` block."
        )
        first = facts.chain(region.site, "grad mode switched off here")
    return _finding(
        facts,
        code,
        cut,
        f"{_described(facts, cut, op)} was computed while {why}{_effect(facts, cut)}",
        fix,
        unique([*first, *facts.chain(op.site, "computed here")]),
    )


def _calls(facts: Facts, region: Region, name: str) -> bool:
    return any(name in place.source for place in facts.capture.site(region.site)[:1])


def _described(facts: Facts, cut: Severed, op: Op) -> str:
    """What the cut keeps out: a named module, a parameter, or the tensor."""
    if op.call >= 0 and op.name not in {"detach", "data", "detach_"}:
        call = facts.capture.calls[op.call]
        while call.parent >= 0 and facts.capture.calls[call.parent].site != -1 and not call.path:
            call = facts.capture.calls[call.parent]
        model = facts.capture.models[call.root] if call.root >= 0 else ""
        return f"the output of {'.'.join(filter(None, (model, call.path))) or call.type}"
    return joined((facts.name(t) for t in op.inputs), 3) or f"the result of `{op.name}`"


def _effect(facts: Facts, cut: Severed) -> str:
    names = folded(facts.name(t) for t in cut.parameters)
    if cut.fatal:
        return ": the tensor given to backward does not require grad" + (f" ({names} cannot learn)" if names else "")
    return f": {names} get no gradient" if len(cut.parameters) > 1 else f": {names} gets no gradient"


def _spelled(op: Op) -> str:
    return f"torch.{op.name}()" if op.name not in {"__deepcopy__"} else "copy.deepcopy()"


def _rewrap_fix(facts: Facts, op: Op) -> str:
    if op.name in {"all_gather", "all_reduce", "all_gather_into_tensor", "broadcast"}:
        return (
            f"Use torch.distributed.nn.functional.{op.name}, which has a gradient, or put the local tensor back into the "
            "gathered list."
        )
    source = joined(map(facts.name, op.inputs), 2)
    return f"Use {source} itself: no torch.tensor(), item() or NumPy between the model and backward()."


def _inference_tensor(facts: Facts, op: Op) -> Finding:
    capture = facts.capture
    culprit = next((t for t in op.inputs if capture.tensors[t].inference), -1)
    made = facts.flow.birth(culprit) if culprit >= 0 else None
    if culprit >= 0:
        for above, through in facts.flow.upstream([(culprit, op.index)], lambda _o, t: capture.tensors[t].inference):
            if capture.tensors[through].inference and capture.regions[above.region].kind == "inference_mode":
                made, culprit = above, through
                break
    name = facts.name(culprit) if culprit >= 0 else "a tensor"
    region = capture.regions[made.region] if made is not None else None
    origin = facts.chain(made.site, "made under inference mode") if made is not None else ()
    switch = facts.chain(region.site, "inference mode entered here") if region is not None and region.api else ()
    since = "in torch.inference_mode()" if made is not None else "in inference mode before the capture began"
    return Finding(
        "AG103",
        "inference-mode",
        "error",
        f"`{op.name}` needs {name} for backward, but {name} was made {since} and can never be saved",
        f"Make {name} under torch.no_grad() instead of inference mode, or use {name}.clone() outside of it "
        "(with Lightning: Trainer(inference_mode=False)).",
        unique([*origin, *switch, *facts.chain(op.site, "used here")]),
        (name,),
        ops=(op.index,),
    )


def _is_checkpoint(facts: Facts, cut: Severed) -> bool:
    return facts.capture.regions[cut.ops[0].region].library == "torch.utils.checkpoint"


def _reentrant_checkpoint(facts: Facts, before: int, roots: tuple[int, ...]) -> Op | None:
    """A reentrant checkpoint above the loss whose inputs did not require grad while its parameters did."""
    found = None
    for op, _ in facts.flow.upstream([(root, before) for root in roots], lambda o, t: True):
        if op.name == "CheckpointFunction.apply":
            found = op
    return found


def _checkpoint_finding(facts: Facts, op: Op, backward: int) -> Finding:
    capture = facts.capture
    inside = [
        t
        for o in capture.ops[: op.index]
        if capture.regions[o.region].library == "torch.utils.checkpoint"
        for t in o.inputs
        if capture.tensors[t].kind == "parameter" and capture.tensors[t].requires_grad
    ]
    names = folded(facts.name(t) for t in inside)
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        f"checkpoint(use_reentrant=True) got no input that requires grad, so its output has no graph although "
        f"{names or 'its parameters'} would learn",
        "Pass use_reentrant=False, or let an input require grad (model.enable_input_require_grads()).",
        unique([*facts.chain(op.site, "checkpointed here"), *facts.chain(backward, "backward called here")]),
        tuple(dict.fromkeys(facts.name(t) for t in inside)),
        ops=(op.index,),
    )


def _all_frozen(facts: Facts, roots: tuple[int, ...], before: int, backward: int) -> Finding:
    capture = facts.capture
    inputs = dict.fromkeys(
        t
        for op, _ in facts.flow.upstream([(root, before) for root in roots], lambda o, t: True)
        for t in op.inputs
        if capture.tensors[t].kind == "parameter"
    )
    frozen = [t for t in inputs if not capture.tensors[t].requires_grad]
    changes = [c for c in capture.leaf_changes if c.tensor in inputs and not c.requires_grad and c.at <= before]
    names = [facts.name(t) for t in frozen]
    where = tuple(place for change in changes[-1:] for place in facts.chain(change.site, "frozen here"))
    roots_named = joined(map(facts.name, roots), 2)
    message = (
        f"nothing that {roots_named} is computed from requires grad: {folded(names)} are frozen"
        if names
        else f"nothing that {roots_named} is computed from requires grad: no parameter took part"
    )
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        message,
        "Call requires_grad_(True) on what should learn before the forward."
        if names
        else "Compute the loss from the model's output.",
        unique([*where, *facts.chain(backward, "backward called here")]),
        tuple(names) or (roots_named,),
    )
