"""AG109: the model that computes the targets shares parameters with the one that is trained on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.idle_namesakes import IdleNamesakes
from autograd_inspector.analysis.losses.shared_targets import SharedTarget, shared_targets
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ModelsShared, ModuleCopied
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import DeepCopy
from autograd_inspector.model.wording import agree, summarize_names


def shared_with_the_teacher(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that compares the two."""
    for found in shared_targets(analysis):
        if found.idle is None:
            yield _problem(analysis, found)
        else:
            yield _bound_to_the_original(analysis, found, found.idle)


def _problem(analysis: Analysis, found: SharedTarget) -> Problem:
    names = names_of(analysis, found.tensors)
    models = analysis.capture.models
    teacher, trained = models[found.teacher.root], models[found.trained.root]
    if teacher == trained:
        teacher = f"the copy of {trained}"
    return Problem(
        # An embedding or a trunk may be shared on purpose.
        "warning" if found.whole else "info",
        f"{teacher} computes the targets that {trained} is trained on, and the two share {summarize_names(names)}: each step "
        f"moves {agree(names, 'it', 'them')}, and the targets with {agree(names, 'it', 'them')}",
        f"Give {teacher} separate parameters: use `copy.deepcopy(...)` of the model, or of the layers that both models have.",
        analysis.places(
            (found.shared, "shared here"), (found.teacher, "targets computed here"), (found.compared, "compared here")
        ),
        (models[found.teacher.root], trained, *names),
        ops=(found.compared.index,),
        cures=tuple(_cures(analysis, found)),
    )


def _bound_to_the_original(analysis: Analysis, found: SharedTarget, idle: IdleNamesakes) -> Problem:
    names = names_of(analysis, found.tensors)
    models = analysis.capture.models
    teacher, trained = models[found.teacher.root], models[found.trained.root]
    return Problem(
        "warning",
        f"{teacher} computes the targets that {trained} is trained on with {summarize_names(names)}, and never uses "
        f"{agree(names, 'its own copy of it', 'its own copies of them')}: each step moves the targets",
        f"Create {teacher} with its constructor and copy the values, `{teacher}.load_state_dict({trained}.state_dict())`: "
        f"`copy.deepcopy` copies the parameters, but a function that {trained} keeps as an attribute (a lambda, a compiled "
        "method) still uses the original ones.",
        analysis.places(
            (idle.copied, "copied here"),
            *((op, "reads parameters of another model here") for op in _readers(analysis, found)),
            (found.teacher, "targets computed here"),
            (found.compared, "compared here"),
        ),
        (teacher, trained, *names),
        ops=(found.compared.index,),
    )


def _readers(analysis: Analysis, found: SharedTarget) -> list[Op]:
    """The first op of the teacher's call that reads one of them."""
    capture = analysis.capture
    readers = (capture.ops[index] for index in capture.readers.get(found.tensors[0]))
    within = (op for op in readers if op.call >= 0 and capture.outermost_call(op.call).id == found.teacher.id)
    return list(islice(within, 1))


def _cures(analysis: Analysis, found: SharedTarget) -> Iterator[Remedies]:
    if isinstance(found.shared, (ModelsShared, ModuleCopied)):
        yield from at_line(analysis, found.shared.site, DeepCopy)
