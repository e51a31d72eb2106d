"""AG405: parameters that an optimizer holds and the program has no more."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.advice.names import as_code
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import remade
from autograd_inspector.advice.remedies.optimizers import made_afterwards, written_into
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import (
    birthplace,
    first_use,
    made_here,
    thawed,
    were_replaced,
)
from autograd_inspector.analysis.optimizers.selections import collected_at
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.rewrites import NotCopied
from autograd_inspector.model.wording import agree, counted, summarize_names
from autograd_inspector.rules.ag405_orphan_in_optimizer.leftover_state import state_left
from autograd_inspector.rules.ag405_orphan_in_optimizer.removed_parameters import taken_out, vanished


def check(analysis: Analysis) -> Iterator[Problem]:
    """The optimizer holds parameters that are no longer in the model: they were replaced after it was built.

    Why it matters
        An optimizer keeps references to parameter objects. After a new head, `copy.deepcopy(model)`,
        `load_state_dict(assign=True)` or a conversion that swaps parameters, it keeps updating the old objects: the loss
        never changes, and nothing raises.

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
    yield from state_left(analysis)
    loose = analysis.unoptimized
    if loose is None or not were_replaced(analysis, loose):
        yield from vanished(analysis, ())
        return
    # What no module has registered took nobody's place: AG107 reports it.
    registered = tuple(t for t in loose.parameters if t not in analysis.unregistered)
    loose = replace(loose, parameters=registered or loose.parameters)
    yield from vanished(analysis, loose.orphans)
    names = [name_of(analysis, new) for new in loose.parameters]
    old = [name_of(analysis, t) for t in loose.orphans]
    late = [t for t in loose.parameters if analysis.lifecycle.began_after(t, loose.optimizer)] or list(loose.parameters)
    where = [place for new in late[:4] for place in birthplace(analysis, new, loose.optimizer, "replaced here")]
    where += [*taken_out(analysis, loose.orphans), *thawed(analysis, loose.parameters, loose.optimizer)]
    created = analysis.user_frames(loose.optimizer.site, "optimizer created here")
    made = (*created, *collected_at(analysis, loose.optimizer.site))
    if loose.optimizer.site < 0:  # A copy of one has its own copies of what that held.
        made = made_here(analysis, loose.orphans)
    at_entry = "" if where else " (they already differed when the capture began)"
    bare = not any(analysis.capture.tensors[t].names for t in loose.parameters)
    yield Problem(
        "error" if any(step.error for step in analysis.capture.steps) else "warning",
        f"{loose.optimizer.type} holds {_lost(len(loose.orphans), bare=bare)}{_called(old, names)} {summarize_names(names)} "
        f"{agree(names, 'gets', 'get')} the gradients and {agree(names, 'is', 'are')} not in any optimizer, so "
        f"step() does not update {agree(names, 'it', 'them')}{at_entry}",
        "Build the optimizer after the replacement, or keep the tensor it holds and assign new values to it: `w.data = ...`, "
        "or copy_ under torch.no_grad()."
        if bare
        else "Build the optimizer after the model is final"
        f"{as_code(remade(analysis, loose.optimizer, loose.parameters))}, or copy into the existing parameters (load_state_dict "
        "without assign=True, copy_ under torch.no_grad()) instead of replacing them.",
        dedupe_locations([*where, *made]) or first_use(analysis, loose.parameters[0]),
        (*names, *old),
        cures=(
            *((NotCopied(place, called=True),) for place in where[:1]),
            *written_into(analysis, loose.optimizer, loose.orphans, loose.parameters),
            *made_afterwards(analysis, loose.optimizer, where, loose.parameters),
        ),
    )


def _lost(number: int, *, bare: bool) -> str:
    what, gone = ("tensor", "used by the program") if bare else ("parameter", "in the model")
    return f"{counted(number, what)} that {agree(number, 'is', 'are')} no longer {gone}"


def _called(old: list[str], new: list[str]) -> str:
    """The names of what is held, where they are not those of what took its place."""
    if set(old) & set(new):
        return f"; {agree(old, 'its replacement', 'their replacements')}"
    return f" ({summarize_names(old)});"
