"""AG109: the model that computes the targets shares parameters with the one that is trained on them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.shared_targets import SharedTarget, shared_targets
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ModelsShared, ModuleCopied
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import DeepCopy
from autograd_inspector.model.wording import agree, summarize_names


def shared_with_the_teacher(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that compares the two."""
    for found in shared_targets(analysis):
        yield _problem(analysis, found)


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


def _cures(analysis: Analysis, found: SharedTarget) -> Iterator[Remedies]:
    if isinstance(found.shared, (ModelsShared, ModuleCopied)):
        yield from ((DeepCopy(place),) for place in analysis.user_frames(found.shared.site, "")[:1])
