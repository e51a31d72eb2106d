"""AG107: parameters that no optimizer can find because no module knows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.sharing import replaced_by_namesake
from autograd_inspector.analysis.optimizers.empty_parameter_list import waiting
from autograd_inspector.analysis.parameters.made_anew import birth_site
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import ModuleCall, Op
from autograd_inspector.model.program_events import BareTensorHeld, LayersHeld, ParameterRegistered
from autograd_inspector.model.remedy import Register, Remedies
from autograd_inspector.model.rewrites import NotCopied
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """A parameter in a plain list, made in forward, or held as a bare tensor: `parameters()` omits it.

    Why it matters
        nn.Module finds parameters that are attributes, in ModuleList or in ParameterList. Parameters in a Python list,
        or created again in each forward, get gradients but are never updated.

    Example
        ::

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first = nn.Linear(4, 4)
                    self.layers = [nn.Linear(4, 4)]

                def forward(self, x):
                    return self.layers[0](self.first(x))


            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first = nn.Linear(4, 4)
                    self.layers = nn.ModuleList([nn.Linear(4, 4)])

                def forward(self, x):
                    return self.layers[0](self.first(x))


            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.ModuleList, torch.nn.ParameterList, torch.nn.Module.register_parameter.
    """
    if says(analysis.capture.error, TorchError.NO_PARAMETERS) and not waiting(analysis):
        yield _empty(analysis)
    # A parameter that forward wraps around another's values is that one's loss: AG101 tells it.
    unregistered = analysis.unregistered - {
        t for cut in analysis.harmful_cuts if cut.cause == "detached" for t in cut.through
    }
    computing = {t for op in analysis.capture.ops if op.call >= 0 for t in op.inputs if t in unregistered}
    attributes = {e.tensor: e for e in analysis.capture.events_of(BareTensorHeld) if e.tensor not in computing}
    beside = unregistered & attributes.keys()
    copied = {p: told for p, copies in analysis.made_anew.items() if (told := unregistered.intersection(copies))}
    if copied:
        yield _made_anew(analysis, copied)
    buffers = {t for t in unregistered - beside if analysis.capture.tensors[t].kind == "buffer"}
    if buffers:
        yield _buffers(analysis, sorted(buffers))
    left = unregistered - beside - buffers - frozenset().union(*copied.values())
    if left:
        yield _finding(analysis, sorted(left))
    if beside:
        yield _attributes(analysis, [attributes[tensor] for tensor in sorted(beside)])


def _attributes(analysis: Analysis, held: list[BareTensorHeld]) -> Problem:
    """Tensors that the methods of a module use beside its forward."""
    names = list(dict.fromkeys(name_of(analysis, event.tensor) for event in held))
    owner, them = held[0].type, agree(names, "it", "them")
    use = next((op for op in analysis.capture.ops if {event.tensor for event in held} & set(op.inputs)), None)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'gets', 'get')} gradients, but {agree(names, 'is a', 'are')} plain "
        f"{agree(names, 'attribute', 'attributes')} of {owner}, not registered in it: {owner}.parameters() omits {them}, and "
        f"step() never moves {them}",
        f"Register {them} in __init__: `self.{held[0].attribute} = nn.Parameter(...)`; or make {them} without requires_grad, "
        f"where {agree(names, 'it is', 'they are')} meant to be constant.",
        (
            *(place for event in held for place in _birthplace(analysis, event.tensor)),
            *analysis.places((use, "used here")),
        ),
        tuple(names),
        cures=(
            *_together(analysis, [event.tensor for event in held]),
            *((Register(place, parameters=True),) for e in held[:1] for place in _birthplace(analysis, e.tensor)),
        ),
    )


def _buffers(analysis: Analysis, tensors: list[int]) -> Problem:
    """They move with the module to another device, and are saved with it, and nobody trains them."""
    names = names_of(analysis, tensors)
    use = next((op for op in analysis.capture.ops if op.call >= 0 and not set(tensors).isdisjoint(op.inputs)), None)
    born = tuple(
        place for tensor in tensors[:4] for place in (*_unfrozen(analysis, tensor), *_birthplace(analysis, tensor))
    )
    them = agree(names, "it", "them")
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'gets', 'get')} gradients, but {agree(names, 'is a buffer', 'are buffers')}: "
        f"parameters() omits {them}, step() never moves {them}, and zero_grad() never clears {agree(names, 'its gradient', 'their gradients')}",
        f"Register {them} in __init__ as {agree(names, 'a parameter', 'parameters')}: `self.x = nn.Parameter(...)`; or make "
        f"{them} without requires_grad, where a buffer is meant to be constant.",
        dedupe_locations((*born, *analysis.places((use, "used here")))),
        tuple(names),
        cures=tuple((Register(place, parameters=True),) for place in born),
    )


def _unfrozen(analysis: Analysis, tensor: int) -> tuple[Location, ...]:
    sites = [change.site for change in analysis.lifecycle.unfrozen([tensor])]
    return tuple(place for site in sites[:1] for place in analysis.user_frames(site, "requires grad from here on"))


def _made_anew(analysis: Analysis, copied: Mapping[int, AbstractSet[int]]) -> Problem:
    """Copies that a forward makes of registered parameters, and computes with in their place."""
    names = names_of(analysis, copied)
    copies = {copy for each in copied.values() for copy in each}
    use = next((op for op in analysis.capture.ops if not copies.isdisjoint(op.inputs) and op.call >= 0), None)
    # In the memory of the parameter itself: nothing was copied, and what made that memory is far from here.
    own = {analysis.capture.tensors[p].storage for p in copied}
    born = [
        place
        for copy in sorted(copies)
        if analysis.capture.tensors[copy].storage not in own
        for place in _birthplace(analysis, copy)
    ]
    them, they = agree(names, "it", "them"), agree(names, "gets", "get")
    return Problem(
        "warning",
        f"forward computes with {agree(names, 'a copy', 'copies')} of {summarize_names(names)}, made there as a new "
        f"parameter: the {agree(names, 'copy gets the gradient', 'copies get the gradients')}, which no optimizer uses, and "
        f"{summarize_names(names)} {they} none",
        f"Compute with {summarize_names(names)} {agree(names, 'itself', 'themselves')}: do not copy {them} in forward.",
        dedupe_locations((*born, *analysis.places((use, "used here"))))[:_PLACES],
        tuple(names),
        cures=tuple(_uncopied(analysis, born, use)),
    )


_PLACES = 6


def _uncopied(analysis: Analysis, born: list[Location], use: Op | None) -> Iterator[Remedies]:
    """What is copied, or wrapped as a new parameter, is used itself."""
    yield from ((NotCopied(place),) for place in born[:1])
    yield from ((NotCopied(place, "Parameter"),) for place in analysis.places((use, ""))[:1])


def _finding(analysis: Analysis, tensors: list[int]) -> Problem:
    names = _numbered(analysis, tensors)
    held = next((e for e in analysis.capture.events_of(LayersHeld) if not set(tensors).isdisjoint(e.tensors)), None)
    total = names.total()
    them = agree(total, "it", "them")
    lost = replaced_by_namesake(analysis.capture, tensors)
    born = [place for t in tensors[:4] for place in _birthplace(analysis, t)]
    use = next((op for op in analysis.capture.ops if set(tensors) & set(op.inputs) and op.call >= 0), None)
    inside = _around(analysis, use, tensors) if use is not None else None
    owner = inside.type if inside is not None else "the module"
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(total, 'is', 'are')} used by {owner}.forward and {agree(total, 'gets', 'get')} "
        f"gradients, but {agree(total, 'is', 'are')} not registered in {owner}: {owner}.parameters() omits {them}"
        + (f", because {held.api} is a plain Python container" if held is not None else "")
        + (
            f", and the next module that was registered as `{lost.name}` took the place of each"
            if lost is not None
            else ""
        ),
        f"Register {them} in __init__: nn.Parameter as an attribute, nn.ParameterList / nn.ModuleList instead of a Python "
        f"list; make {them} once, not in forward.",
        dedupe_locations(
            (
                *analysis.places(
                    (lost, "another module registered under the same name here"), (held, "container made here")
                ),
                *born,
                *analysis.places((use, "used here")),
            )
        ),
        (*names, *(() if held is None else (held.name,))),
        cures=(*_together(analysis, tensors), *_registered(born)),
    )


def _together(analysis: Analysis, tensors: list[int]) -> Iterator[Remedies]:
    """Several bare tensors that one function makes, a line each: one of them alone would leave the others."""
    born = [_birthplace(analysis, tensor)[:1] for tensor in tensors]
    places = list(dict.fromkeys(place for own in born for place in own if not place.library))
    if len(places) == len(tensors) > 1 and len({place.scope for place in places}) == 1:
        yield tuple(Register(place, parameters=True) for place in places)


def _around(analysis: Analysis, use: Op, tensors: list[int]) -> ModuleCall:
    """The module that should have them: whose forward called the module that has them, or else the outermost one."""
    calls, roots = analysis.capture.calls, {analysis.capture.owners.get(tensor, -1) for tensor in tensors}
    inside = calls[use.call]
    owned = inside.root in roots
    while inside.parent >= 0 and (not owned or inside.root in roots):
        inside = calls[inside.parent]
    return inside


def _registered(born: list[Location]) -> Iterator[Remedies]:
    """Where a layer of a list made the parameter, the list stands further out; a parameter's own line comes first."""
    frames = list(dict.fromkeys(place for place in born if not place.library))
    yield from ((Register(place, parameters=place == frames[0]),) for place in [*frames[1:], *frames[:1]])


def _numbered(analysis: Analysis, tensors: list[int]) -> Counter[str]:
    """How many parameters have each name: as many as one backward gives gradients.

    The layers of a list are called by their class all alike; so is what is made anew in each forward, one at a time.
    """
    called = {tensor: name_of(analysis, tensor) for tensor in tensors}
    counts = Counter(dict.fromkeys(called.values(), 1))
    for run in analysis.capture.backwards:
        counts |= Counter(called[tensor] for tensor in dict.fromkeys(run.reached) if tensor in called)
    return counts


def _birthplace(analysis: Analysis, tensor: int) -> tuple[Location, ...]:
    site = birth_site(analysis.lifecycle, analysis.flow, tensor)
    return analysis.user_frames(site, "made here") if site >= 0 else ()


def _empty(analysis: Analysis) -> Problem:
    registered = analysis.capture.events_of(ParameterRegistered)
    bare = analysis.lifecycle.unfrozen(record.id for record in analysis.capture.tensors if not record.names)
    names = [name_of(analysis, e.tensor) for e in registered] + [name_of(analysis, c.tensor) for c in bare]
    sites = [event.site for event in registered] + [change.site for change in bare]
    return Problem(
        "error",
        "the module given to the optimizer has no parameters: its layers or weights are held in a plain list or as bare tensors",
        "Hold layers in nn.ModuleList and weights as nn.Parameter attributes.",
        dedupe_locations([place for site in sites for place in analysis.user_frames(site, "made here")])[:8],
        tuple(names),
        cures=tuple(_registered([place for site in sites[:1] for place in analysis.user_frames(site, "")])),
    )
