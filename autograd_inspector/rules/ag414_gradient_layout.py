"""AG414: sparse gradients where the step takes dense ones, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ParameterRegistered, SparseGradientsMet
from autograd_inspector.model.remedy import Remedies, SetArgument, SetEverywhere
from autograd_inspector.model.settings import is_off
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """A step() got sparse gradients that it cannot use, or dense gradients where it needs sparse ones.

    Why it matters
        `nn.Embedding(sparse=True)` gives its weight a sparse gradient. Adam and most other optimizers reject it, SGD
        rejects it with weight decay, and SparseAdam rejects everything else. The error is raised in the middle of
        step() and does not name the parameter.

    Example
        ::

            table = nn.Embedding(1000, 16, sparse=True)
            optimizer = torch.optim.SGD(table.parameters(), lr=0.1, weight_decay=1e-4)
            table(i).sum().backward()
            optimizer.step()

    Fix
        ::

            table = nn.Embedding(1000, 16, sparse=True)
            optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
            table(i).sum().backward()
            optimizer.step()

    References
        torch.nn.Embedding (sparse), torch.optim.SparseAdam.
    """
    for event in analysis.capture.events_of(SparseGradientsMet):
        steps = [step for step in analysis.timeline.steps_of(event.optimizer).all if step.error]
        for step in steps[-1:]:
            yield _finding(analysis, event, step)


def _finding(analysis: Analysis, event: SparseGradientsMet, step: Step) -> Problem:
    optimizer = analysis.capture.placement.optimizers[event.optimizer]
    dense = tuple(p.tensor for p in step.parameters if p.gradient >= 0 and p.tensor not in event.tensors)
    wants_sparse = says(step.error, TorchError.DENSE_GRADIENT) is not None
    refused = dense if wants_sparse else event.tensors
    names = names_of(analysis, refused)
    kind = "dense" if wants_sparse else "sparse"
    return Problem(
        "error",
        f"{event.type}.step() cannot use the {kind} {agree(names, 'gradient', 'gradients')} of {summarize_names(names)}",
        _fix(optimizer, event.type, both=bool(dense), wants_sparse=wants_sparse),
        (
            *analysis.user_frames(optimizer.site, "passed to the optimizer here"),
            *_made(analysis, refused),
            *analysis.user_frames(step.site, "step() called here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=() if wants_sparse else (*_dense(analysis, refused), *_undecayed(analysis, optimizer)),
    )


def _dense(analysis: Analysis, tensors: tuple[int, ...]) -> Iterator[Remedies]:
    """Embeddings whose gradients are dense, which every optimizer takes."""
    yield from ((SetEverywhere(place, "sparse", "True", "False"),) for place in _made(analysis, tensors)[:4])


def _undecayed(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """SGD without weight decay, which takes sparse gradients."""
    place = analysis.capture.place(optimizer.site)
    if optimizer.type == "SGD" and place is not None:
        yield (SetArgument(place, optimizer.type, "weight_decay", ""),)


def _fix(optimizer: OptimizerRecord, kind: str, *, both: bool, wants_sparse: bool) -> str:
    if wants_sparse:
        return f"Pass only the parameters with sparse gradients to {kind}, and the others to another optimizer."
    split = "SparseAdam, and the other parameters to another optimizer" if both else "SparseAdam"
    decays = not all(is_off(group.get("weight_decay")) for group in optimizer.groups)
    decay = f"{kind} without weight_decay, or to " if kind == "SGD" and decays else ""
    return (
        f"Build the embedding with sparse=False, or pass the parameters with sparse gradients to {decay}"
        f"torch.optim.{split}."
    )


def _made(analysis: Analysis, tensors: tuple[int, ...]) -> list[Location]:
    """Where the modules were made that have them."""
    events = [e for e in analysis.capture.events_of(ParameterRegistered) if e.tensor in tensors]
    return [place for event in events[:4] for place in analysis.user_frames(event.site, "created here")]
