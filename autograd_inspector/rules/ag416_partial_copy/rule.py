"""AG416: target networks and averages of which a part stays behind."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.copied_before_load import CopiedBefore, copied_before_load
from autograd_inspector.analysis.modules.followers import LeftBehind, Unused, left_behind, unused
from autograd_inspector.analysis.modules.following import named_in
from autograd_inspector.analysis.modules.measured_elsewhere import MeasuredElsewhere, measured_elsewhere
from autograd_inspector.analysis.modules.plain_statistics import LeftOut, left_out
from autograd_inspector.analysis.modules.shared_averages import shared_averages
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import WrittenInLoop
from autograd_inspector.model.wording import agree, counted, summarize_names
from autograd_inspector.rules.ag416_partial_copy.following_another import following_another
from autograd_inspector.rules.ag416_partial_copy.uneven import uneven


def check(analysis: Analysis) -> Iterator[Problem]:
    """A target network or an average of the weights is updated in part, never called, follows another model, or is older than a load.

    Why it matters
        What the update leaves out keeps the values of the day when the copy was made. Its layers no longer fit each
        other: heads that follow the trained model compute with features of an untrained one, and in eval mode batch
        norm normalizes with statistics of other weights, as it does where update_bn() is given the trained model and
        not the average. load_state_dict() leaves out the tensors that are plain attributes. A copy that is made before load_state_dict() has random
        weights, and the average, or the slow weights of Lookahead, mixes them with the loaded ones. Nothing raises, and
        the targets are wrong. Parameters that are paired with zip() over two models of which one has a layer more, or
        that a recursion over modules meets several times, give averages of the wrong weights, or at different rates.

    Example
        ::

            import copy

            target = copy.deepcopy(net).requires_grad_(False)
            for _ in range(3):
                optimizer.zero_grad()
                (net(x) - target(x).detach()).pow(2).mean().backward()
                optimizer.step()
                with torch.no_grad():
                    target[-1].weight.lerp_(net[-1].weight, 0.1)

    Fix
        ::

            import copy

            target = copy.deepcopy(net).requires_grad_(False)
            for _ in range(3):
                optimizer.zero_grad()
                (net(x) - target(x).detach()).pow(2).mean().backward()
                optimizer.step()
                with torch.no_grad():
                    for t, p in zip(target.parameters(), net.parameters()):
                        t.lerp_(p, 0.1)

    References
        torch.optim.swa_utils.AveragedModel (use_buffers) and update_bn.
    """
    told = set[int]()
    for elsewhere in measured_elsewhere(analysis):
        told.update(elsewhere.tensors)
        yield _elsewhere(analysis, elsewhere)
    for behind in left_behind(analysis):
        if not told.issuperset(behind.tensors):
            yield _behind(analysis, behind)
    for idle in unused(analysis):
        yield _unused(analysis, idle)
    for older in copied_before_load(analysis):
        yield _older(analysis, older)
    for out in left_out(analysis):
        yield _left_out(analysis, out)
    yield from _shared(analysis)
    yield from following_another(analysis)
    yield from uneven(analysis)


def _behind(analysis: Analysis, found: LeftBehind) -> Problem:
    names, own = names_of(analysis, found.tensors), names_of(analysis, found.counterparts)
    buffers = analysis.capture.tensors[found.tensors[0]].kind == "buffer"
    stays, their = agree(names, "stays what it was", "stay what they were"), agree(names, "its", "their")
    loops = analysis.capture.events_of(WrittenInLoop)
    loop = next((loop for loop in loops if loop.made == found.followed.site), None)
    noun, updated = ("buffers", "the parameters") if buffers else ("parameters", "other parameters")
    waits = "" if found.read is not None else "; the copy is in eval mode, in which it computes with them"
    return Problem(
        "warning",
        f"{summarize_names(names, noun=noun)} {stays}: the program updates {updated} of that copy in each iteration, "
        f"and {summarize_names(own, noun=noun)}, {their} {agree(own, 'counterpart', 'counterparts')} in the trained model, "
        f"{agree(own, 'moves', 'move')}{waits}",
        "Copy the buffers as well: `for t, p in zip(average.buffers(), model.buffers()): t.copy_(p)`. Or call "
        "torch.optim.swa_utils.update_bn(loader, average) before the evaluation."
        if buffers
        else "Update all parameters of the copy: `for t, p in zip(target.parameters(), model.parameters()): t.lerp_(p, tau)`.",
        analysis.places(
            (found.followed, "only others updated here"),
            (loop, "loop over what is updated"),
            (found.switch, "put into eval mode here"),
            (found.read, "old values used here"),
        ),
        tuple(names),
        ops=(found.followed.index, *(() if found.read is None else (found.read.index,))),
    )


def _elsewhere(analysis: Analysis, found: MeasuredElsewhere) -> Problem:
    root, path, copy_root, copy_path = found.ends
    model, average = _model(analysis, root, path), _model(analysis, copy_root, copy_path)
    names = names_of(analysis, found.tensors)
    return Problem(
        "warning",
        f"the batch-norm statistics of {model} are computed again, and nothing uses them; {average}, whose weights follow "
        f"it, is evaluated with {summarize_names(names, noun='buffers')}, which {agree(names, 'was', 'were')} computed with other weights",
        f"Compute the statistics of the model that is evaluated: `torch.optim.swa_utils.update_bn(loader, {average})`.",
        analysis.places(
            (found.measured, f"statistics of {model} computed again here"),
            (found.read, "those of the copy used here"),
            (found.followed, "weights of the copy updated here"),
        ),
        (*names, *names_of(analysis, found.counterparts)),
        ops=(found.measured.index, found.read.index),
    )


def _model(analysis: Analysis, root: int, path: str) -> str:
    """What the program calls the module under a path: where the rest of its root has no parameters, the root."""
    name, within = analysis.capture.models[root], {record.id for record, _ in named_in(analysis, root, path)}
    parts = [record for record, _ in named_in(analysis, root, "") if record.kind == "parameter"]
    return f"{name}.{path}" if path and any(part.id not in within for part in parts) else name


def _older(analysis: Analysis, found: CopiedBefore) -> Problem:
    names, copies = names_of(analysis, found.parameters), names_of(analysis, found.copies)
    api = found.loaded.api
    return Problem(
        "warning",
        f"the copies of {summarize_names(names)} are older than {api}: they still have the values of before, and "
        f"`{found.mixed.name}` mixes these with the loaded weights",
        f"Make the copies after {api}; or copy the loaded values into them right after it: "
        "`for c, p in zip(copies, model.parameters()): c.data.copy_(p)`.",
        analysis.places(
            (found.copied, "copied here, before the load"),
            (found.loaded, "other weights loaded here"),
            (found.mixed, "old and loaded weights averaged here"),
        ),
        (*names, *copies),
        ops=(found.copied.index, found.mixed.index),
    )


def _left_out(analysis: Analysis, found: LeftOut) -> Problem:
    model = analysis.capture.models[found.attributes[0].model]
    names = [".".join(filter(None, (model, held.path, held.name))) for held in found.attributes]
    lines = dict.fromkeys(held.site for held in found.attributes if held.site >= 0)
    stays, their = agree(names, "stays what it was", "stay what they were"), agree(names, "its value", "their values")
    return Problem(
        "warning",
        f"{summarize_names(names, noun='tensors')} {stays} when {model} was made: {found.loaded.api} loads parameters and "
        f"buffers, and {agree(names, 'this is a plain tensor', 'these are plain tensors')}. Training changed {their} in "
        "the model that was saved, and the loaded one is evaluated without them",
        f"Register {agree(names, 'it', 'them')} as {agree(names, 'a buffer', 'buffers')}, which state_dict() has: "
        f"`self.register_buffer({found.attributes[0].name!r}, ...)`.",
        analysis.places(
            *((line, "plain tensor made here") for line in lines),
            (found.written, "changed in training here"),
            (found.loaded, "loaded here, without it"),
            (found.read, "old values used here"),
        ),
        tuple(names),
        ops=(found.read.index,),
    )


def _unused(analysis: Analysis, found: Unused) -> Problem:
    return Problem(
        "warning",
        f"{found.copy} is updated like {found.other}, and nothing calls it: beside {found.other}, the program calls {found.module}",
        f"Call {found.copy} there instead of {found.module}; or do not keep {found.copy}.",
        analysis.places(
            (found.instead, f"{found.module} called here"),
            (found.beside, f"{found.other} called here"),
            (found.followed, "updated without use here"),
        ),
        (found.copy, found.module),
        ops=(found.instead.index, found.followed.index),
    )


def _shared(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that updates averages."""
    for shared in grouped(shared_averages(analysis), lambda found: found.updated.site).values():
        first = shared[0]
        names, own = names_of(analysis, first.parameters), names_of(analysis, [each.average for each in shared])
        others = f", and {counted(len(shared) - 1, 'other average')} in the same way" if len(shared) > 1 else ""
        yield Problem(
            "warning",
            f"{summarize_names(names)} share one average, {own[0]}{others}: each update mixes the one parameter with the "
            "other, and both get the same values when it is copied back",
            "Keep an average for each parameter, under a key that no other parameter has: its full name, or "
            "`name.replace('.', '_')` for a buffer.",
            analysis.places(
                (first.made, "average made here"),
                (first.updated, "mixed with another parameter here"),
                (first.copied, "same values copied to both here"),
            ),
            (*names, *own),
            ops=(first.updated.index, first.copied.index),
        )
