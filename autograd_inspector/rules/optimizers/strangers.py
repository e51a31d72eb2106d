"""AG404 and AG405: parameters and optimizers that do not know each other."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.cuts.idle import bare, is_idle
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.given_nothing import given_nothing
from autograd_inspector.rules.optimizers.loose import Loose
from autograd_inspector.rules.optimizers.origins import birthplace, born_after
from autograd_inspector.rules.optimizers.pasted import group_added, remade
from autograd_inspector.rules.optimizers.probed import looked_into
from autograd_inspector.rules.optimizers.vanished import taken_out, vanished
from autograd_inspector.rules.state.left import state_left
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique


@rule("AG404", "not-in-optimizer")
def not_in_optimizer(facts: Facts) -> Iterator[Finding]:
    """A live trainable parameter that gets gradients and is in no optimizer.

    Why it matters
        It never moves, and its gradient grows from step to step because zero_grad() does not know it either.

    Example
        ::

            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net.append(nn.Linear(2, 2))
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            net.append(nn.Linear(2, 2))
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.optim.Optimizer.add_param_group.
    """
    yield from given_nothing(facts)
    loose = facts.loose
    if loose is None or _replaced(facts, loose) or set(loose.parameters) <= facts.unregistered:
        return
    if facts.copies and (facts.copies_used or looked_into(facts.capture, facts.copies)):
        return
    if _cut_off(facts, loose.optimizer) or _wants_grad(facts, loose.optimizer):
        return
    late = [t for t in loose.parameters if born_after(facts, t, loose.optimizer)]
    early = [t for t in loose.parameters if t not in late]
    names = [facts.name(t) for t in loose.parameters]
    made = facts.chain(loose.optimizer.site, "optimizer made without them here")
    born = [place for t in late for place in birthplace(facts, t, loose.optimizer, "made after the optimizer here")]
    thawed = _thawed(facts, loose.parameters, loose.optimizer)
    empty = [i for i, group in enumerate(loose.optimizer.parameters) if not group] if early else []
    foreign = not set(facts.meant) & facts.reached
    of = " (it holds other parameters, which no backward reached)" if foreign else ""
    yield Finding(
        "AG404",
        "not-in-optimizer",
        "info" if _given_inputs(facts, loose.optimizer) or _passed_through(facts, loose) else "warning",
        f"{folded(names)} {'get' if len(names) > 1 else 'gets'} gradients but {'are' if len(names) > 1 else 'is'} in no "
        f"optimizer: {loose.optimizer.type} does not hold {'them' if len(names) > 1 else 'it'}{of}{_without(empty)}",
        f"{_WALKED if empty else ''}Build the optimizer from the parameters of the model that is trained, after it has all its layers, or call "
        f"add_param_group for the new ones{_as(group_added(facts, loose.optimizer, loose.parameters))}; freeze with "
        "requires_grad_(False) what is not meant to learn.",
        unique([*thawed, *(born if not early else ()), *made, *born]) or _first_use(facts, loose.parameters[0]),
        tuple(names),
    )


@rule("AG405", "orphan-in-optimizer")
def orphan_in_optimizer(facts: Facts) -> Iterator[Finding]:
    """The optimizer holds parameters that are no longer the model's: they were replaced after it was made.

    Why it matters
        An optimizer keeps parameter objects. A new head, `copy.deepcopy(model)`, `load_state_dict(assign=True)` or a
        conversion that swaps parameters leaves it stepping the old ones: the loss never changes, and nothing raises.

    Example
        ::

            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net[0] = nn.Linear(4, 4)
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            net[0] = nn.Linear(4, 4)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.Module.load_state_dict (assign); torch.__future__.set_overwrite_module_params_on_conversion.
    """
    yield from state_left(facts)
    loose = facts.loose
    if loose is None or not _replaced(facts, loose):
        yield from vanished(facts, ())
        return
    yield from vanished(facts, loose.orphans)
    names = [facts.name(new) for new in loose.parameters]
    old = [facts.name(t) for t in loose.orphans]
    late = [t for t in loose.parameters if born_after(facts, t, loose.optimizer)] or list(loose.parameters)
    where = [place for new in late[:4] for place in birthplace(facts, new, loose.optimizer, "replaced here")]
    where += [*taken_out(facts, loose.orphans), *_thawed(facts, loose.parameters, loose.optimizer)]
    made = facts.chain(loose.optimizer.site, "optimizer made here")
    at_entry = "" if where else " (they differed already when the capture began)"
    bare = not any(facts.capture.tensors[t].names for t in loose.parameters)
    yield Finding(
        "AG405",
        "orphan-in-optimizer",
        "error" if any(step.error for step in facts.capture.steps) else "warning",
        f"{loose.optimizer.type} holds {_lost(len(loose.orphans), bare=bare)}{_called(old, names)} {folded(names)} "
        f"{'get' if len(names) > 1 else 'gets'} the gradients and {'are' if len(names) > 1 else 'is'} in no optimizer, so "
        f"step() does not move {'them' if len(names) > 1 else 'it'}{at_entry}",
        "Build the optimizer after that, or keep the tensor that it holds and give it new values: `w.data = ...`, or "
        "copy_ under torch.no_grad()."
        if bare
        else "Build the optimizer after the model is final"
        f"{_as(remade(facts, loose.optimizer, loose.parameters))}, or copy into the existing parameters (load_state_dict "
        "without assign=True, copy_ under torch.no_grad()) instead of replacing them.",
        unique([*where, *made]) or _first_use(facts, loose.parameters[0]),
        tuple(dict.fromkeys([*names, *old])),
    )


_WALKED = "parameters() and its like are generators and can be walked once: keep a list, or call it again. "


def _without(empty: list[int]) -> str:
    """What an empty group tells: torch accepts it without a word."""
    if not empty:
        return ""
    which = f"groups {joined(map(str, empty))} are" if len(empty) > 1 else f"group {empty[0]} is"
    return f"; its {which} empty: a generator that was used up before, or a filter that matched nothing"


def _given_inputs(facts: Facts, optimizer: OptimizerRecord) -> bool:
    """Whether it steps bare tensors alone, and backward reaches them: an image, a prompt, a perturbation is learnt."""
    held = set(optimizer.held)
    return held <= facts.reached and not any(facts.capture.tensors[t].names for t in held)


def _passed_through(facts: Facts, loose: Loose) -> bool:
    """Whether what learns gets its gradient through other models, in eval mode: a loss network, a model to prompt."""
    capture = facts.capture
    roots = {capture.owners.get(tensor, -1) for tensor in loose.parameters}
    trained = capture.optimized & facts.reached
    if -1 in roots or not trained or any(capture.owners.get(tensor, -1) in roots for tensor in capture.optimized):
        return False
    calls = [call for call in capture.calls if call.root in roots]
    return bool(calls) and not any(call.training for call in calls)


def _cut_off(facts: Facts, optimizer: OptimizerRecord) -> bool:
    """Whether a cut explains why nothing that it holds gets a gradient: it holds the right parameters, then."""
    told = {tensor for cut in facts.severed for tensor in cut.parameters}
    held = {t for t in optimizer.held if facts.capture.tensors[t].requires_grad}
    return bool(held) and held <= told


def _wants_grad(facts: Facts, optimizer: OptimizerRecord) -> bool:
    """Whether it was given an image, a prompt, that does not require grad: AG106 says so."""
    return bare(facts, optimizer.held) and is_idle(facts, optimizer)


def _lost(count: int, *, bare: bool) -> str:
    what = "tensor" if bare else "parameter"
    counted = f"1 {what} that is" if count == 1 else f"{count:,} {what}s that are"
    return f"{counted} no longer the {'program' if bare else 'model'}'s"


def _called(old: list[str], new: list[str]) -> str:
    """The names of what is held, where they are not those of what took its place."""
    return ":" if set(old) & set(new) else f" ({folded(old)});"


def _as(statement: str) -> str:
    return f": `{statement}`" if statement else ""


def _replaced(facts: Facts, loose: Loose) -> bool:
    """Whether the loose parameters took the place of the orphans (and were not simply left out from the start)."""
    if not loose.orphans:
        return False
    if loose.optimizer.site < 0:
        return True
    return any(born_after(facts, t, loose.optimizer) for t in loose.parameters)


def _thawed(facts: Facts, tensors: tuple[int, ...], optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where they began to require grad, after the optimizer had left them out."""
    sites = [
        c.site
        for c in facts.capture.leaf_changes
        if c.tensor in tensors
        and c.requires_grad
        and c.at >= max(optimizer.created_at, 0)
        and facts.capture.steps
        and (c.folded or any(not facts.requires_grad_at(c.tensor, s.at) for s in facts.capture.steps if s.at < c.at))
    ]
    return tuple(place for site in dict.fromkeys(sites[-2:]) for place in facts.chain(site, "unfrozen here, too late"))


def _first_use(facts: Facts, tensor: int) -> tuple[Location, ...]:
    use = next((op for op in facts.capture.ops if tensor in op.inputs), None)
    return facts.chain(use.site, "used here") if use is not None else ()
