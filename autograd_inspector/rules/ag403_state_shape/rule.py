"""AG403: optimizer state that does not fit its parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from autograd_inspector.advice.before_load.kind import kind_problems
from autograd_inspector.advice.before_load.problems import before_loading
from autograd_inspector.advice.before_load.shapes import shape_problems
from autograd_inspector.advice.optimizer_snippets import collected
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.checkpoints.state_kinds import ELEMENTWISE, state_of
from autograd_inspector.analysis.optimizers.loads import is_refusal, loads_of
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.own_shapes import keeps_own_shape
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program, is_assigned
from autograd_inspector.analysis.optimizers.state_origins import swapped_origins
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import Held, OptimizerRecord, ParameterRow, StateEntry
from autograd_inspector.model.program_events import LoadRefused, StateSwapped
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag403_state_shape.resized import reshaping, resized
from autograd_inspector.rules.ag403_state_shape.swapped import SAME_ORDER, in_another_order, state_swapped


def check(analysis: Analysis) -> Iterator[Problem]:
    """Optimizer state has a different shape than its parameter.

    Why it matters
        `load_state_dict` matches state by position and checks no shapes. The step then fails with "the size of tensor
        a must match the size of tensor b", which names neither parameter nor state. If the shapes match, a
        parameter continues with the state of another one, and only names in the groups (`named_parameters()`) reveal it.

    Example
        ::

            wider = nn.Linear(4, 3)
            new = torch.optim.Adam(wider.parameters())
            new.load_state_dict(optimizer.state_dict())
            wider(x).pow(2).mean().backward()
            new.step()

    Fix
        ::

            wider = nn.Linear(4, 3)
            new = torch.optim.Adam(wider.parameters())
            wider(x).pow(2).mean().backward()
            new.step()

    References
        torch.optim.Optimizer.load_state_dict ("no shape checks" in its notes).
    """
    yield from before_loading(analysis, kind_problems, shape_problems)
    swapped: set[int] = set()
    for event in analysis.capture.events:
        if isinstance(event, StateSwapped):
            swapped.add(event.optimizer)
            yield state_swapped(analysis, event)
        elif isinstance(event, LoadRefused) and not is_refusal(event.error):
            where = analysis.user_frames(event.site, "loaded here")
            yield _foreign(analysis, event.api, event.saved_state, where)
    for swap in swapped_origins(analysis):
        if swap.optimizer not in swapped:
            swapped.add(swap.optimizer)
            yield state_swapped(analysis, swap)
    for optimizer in analysis.capture.placement.optimizers:
        if optimizer.id not in swapped:
            yield from _unfit(analysis, optimizer)


def _unfit(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Problem]:
    """State of another shape, or of another optimizer."""
    rows = analysis.capture.placement.rows_of.get(optimizer.id, [])
    entries = [(row, entry) for row in rows for entry in row.state]
    unfit_entries = [(row, entry) for row, entry in entries if entry.name in ELEMENTWISE and _unlike(row, entry)]
    loads = loads_of(analysis, optimizer)
    own_state_names = state_of(optimizer.type) if optimizer.module.startswith("torch.optim") else None
    foreign = {entry.name for _, entry in entries} - own_state_names if own_state_names is not None and loads else set()
    if foreign and not unfit_entries:
        yield _foreign(analysis, f"{optimizer.type}.load_state_dict()", sorted(foreign), loads)
    if not unfit_entries:
        return
    if all(e.shape == r.shape for r, e in unfit_entries):
        yield _unsharded(analysis, optimizer, unfit_entries)
        return
    changed = [(r, e, op) for r, e in unfit_entries if (op := reshaping(analysis, r, e)) is not None]
    if changed:
        yield resized(analysis, optimizer, [(r, e) for r, e, _ in changed], [op for *_, op in changed])
        return
    raised = any(step.error for step in analysis.timeline.steps_of(optimizer.id).all)
    if not raised:
        unfit_entries = [(r, e) for r, e in unfit_entries if not keeps_own_shape(analysis, optimizer, r, e)]
        if not unfit_entries:
            return
    row, entry = unfit_entries[0]
    names = [r.name for r, _ in unfit_entries]
    kinds = join_names(dict.fromkeys(e.name for _, e in unfit_entries), 4)
    assigned = assigned_by_program(analysis, optimizer)
    reordered = bool(loads) and _is_reordered([pair for pair in entries if pair[1].name == entry.name])
    written = is_assigned(analysis, optimizer)
    yield Problem(
        "error" if raised else "warning",
        f"{optimizer.type}: {kinds} of {summarize_names(names)} {agree(unfit_entries, 'has', 'have')} a different shape than "
        f"the parameter ({entry.name} {list(entry.shape)}, {row.name} {list(row.shape)})"
        + ("; it is the shape of another parameter: the state was saved in a different order" if reordered else ""),
        SAME_ORDER
        if reordered
        else f"Pad or cut the {'loaded ' if loads else ''}state to the new shape"
        f"{f' too (`{entry.name}` as well as the assigned tensor)' if written and not loads else ''}, or start these parameters "
        f"with fresh state: `{variable(analysis, optimizer)}.state.pop(parameter)`.",
        (
            *loads,
            *(assigned if written or not loads else ()),
            *(_made(analysis, unfit_entries) if not loads else ()),
            *analysis.user_frames(optimizer.site, "optimizer created here"),
        ),
        (*names, *(e.name for _, e in unfit_entries)),
        cures=tuple(in_another_order(analysis, optimizer))
        if reordered
        else tuple(_fresh(analysis, optimizer, [row for row, _ in unfit_entries], loads)),
    )


def _fresh(
    analysis: Analysis, optimizer: OptimizerRecord, rows: list[ParameterRow], loads: tuple[Location, ...]
) -> Iterator[Remedies]:
    """No state for these parameters, right after the load that brought it: the next step makes it."""
    parameters, _ = collected(analysis, dict.fromkeys(row.tensor for row in rows))
    name = variable(analysis, optimizer)
    if parameters:
        yield from ((Insert(place, f"for p in {parameters}: {name}.state.pop(p)", "behind"),) for place in loads[:1])


def _is_reordered(entries: list[tuple[ParameterRow, StateEntry]]) -> bool:
    """Whether the state of one kind would fit if the parameters changed places."""
    return Counter(entry.shape for _, entry in entries) == Counter(row.shape for row, _ in entries)


def _made(analysis: Analysis, unfit_entries: list[tuple[ParameterRow, StateEntry]]) -> tuple[Location, ...]:
    """Where the program made what is state now."""
    made = [analysis.flow.birth(entry.tensor) for _, entry in unfit_entries if entry.tensor >= 0]
    return analysis.places(
        *((op, "this state was created here") for op in made[:1] if op is not None and not op.has(Trait.STEP))
    )


def _unlike(row: ParameterRow, entry: StateEntry) -> bool:
    """Whether state that there is once for each element is laid out unlike the parameter, over ranks too."""
    if entry.shape != row.shape:
        return True
    parameter_sharding, other = row.sharding, entry.sharding
    if parameter_sharding is None or other is None:
        return parameter_sharding is not other
    return (parameter_sharding.placements, parameter_sharding.mesh) != (other.placements, other.mesh)


def _unsharded(
    analysis: Analysis, optimizer: OptimizerRecord, unfit_entries: list[tuple[ParameterRow, StateEntry]]
) -> Problem:
    """State of the right shape that is spread over the ranks unlike its parameter."""
    row, entry = unfit_entries[0]
    names = [r.name for r, _ in unfit_entries]
    kinds = join_names(dict.fromkeys(e.name for _, e in unfit_entries), 4)
    raised = any(step.error for step in analysis.timeline.steps_of(optimizer.id).all)
    return Problem(
        "error" if raised else "warning",
        f"{optimizer.type}: {kinds} of {summarize_names(names)} {agree(unfit_entries, 'is', 'are')} not sharded like "
        f"the parameter ({entry.name} {_spread(entry)}, {row.name} {_spread(row)})",
        "Load with torch.distributed.checkpoint.state_dict.set_optimizer_state_dict(model, optimizer, "
        "optim_state_dict=state, options=StateDictOptions(full_state_dict=True)), which shards the state like its parameter. "
        "If the checkpoint numbers the parameters instead of naming them, first run: state = torch.distributed.fsdp."
        "FullyShardedDataParallel.rekey_optim_state_dict(checkpoint, OptimStateKeyType.PARAM_NAME, model).",
        (*loads_of(analysis, optimizer), *analysis.user_frames(optimizer.site, "optimizer created here")),
        (*names, *(e.name for _, e in unfit_entries)),
    )


def _spread(held: Held) -> str:
    return "is not a DTensor" if held.sharding is None else f"is {', '.join(held.sharding.placements)}"


def _foreign(analysis: Analysis, api: str, state: Sequence[str], where: tuple[Location, ...]) -> Problem:
    raised = bool(analysis.capture.error)
    return Problem(
        "error" if raised else "warning",
        f"{api} got the checkpoint of a different optimizer type: this optimizer does not use its state ({', '.join(state)}), and "
        "the settings of the checkpoint replaced those of this optimizer",
        "Load the checkpoint into an optimizer of the class that wrote it, or start this optimizer with fresh state.",
        where,
        (api, *state),
    )
