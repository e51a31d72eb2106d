"""AG102: computed while grad mode was off."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from autograd_inspector.advice.cut_problems import caused_by, cut_problem, outcome
from autograd_inspector.advice.grad_mode_problems import region_problem, still_on
from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of, output_of_layer
from autograd_inspector.advice.remedies.checkpoints import not_reentrant
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import asked_in_vain, made_in_engine
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.gradient_cuts.left_on_the_way import left_on
from autograd_inspector.analysis.gradients.left_in_checkpoint import checkpoint_left
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Wrap


def check(analysis: Analysis) -> Iterator[Problem]:
    """Computed while grad mode was off: a `no_grad` block, a decorator, or a mode that leaked.

    Why it matters
        Under `torch.no_grad()` or `torch.set_grad_enabled(False)` nothing is recorded. Called as a function,
        `set_grad_enabled(False)` stays in effect after the helper that called it returns. Custom backwards and hooks
        also run with grad mode off, unless backward is called with create_graph=True.

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
    yield from _in_engine(analysis)
    yield from map(partial(still_on, analysis), left_on(analysis.capture, analysis.received_gradient))
    for cut in caused_by(analysis, "no_grad"):
        region = analysis.capture.regions[cut.ops[0].region]
        if not region.library:
            yield region_problem(analysis, cut, region)
            continue
        # torch's own no_grad: initialisation, conversion; checkpointing, of whose result AG106 judges.
        checkpoint = None if cut.partial else checkpoint_left(analysis, cut)
        if checkpoint is not None:
            yield _left_in_checkpoint(analysis, cut, checkpoint)


def _left_in_checkpoint(analysis: Analysis, cut: GradientCut, checkpoint: Op) -> Problem:
    """What a reentrant checkpoint's function leaves somewhere, in an attribute or a list."""
    op = cut.ops[0]
    return cut_problem(
        analysis,
        cut,
        f"{outcome(analysis, cut)} was computed inside checkpoint(use_reentrant=True), which gives a graph only to what "
        "the checkpointed function returns",
        "Pass use_reentrant=False to checkpoint(), or return the tensor from the checkpointed function and use that one.",
        dedupe_locations(
            analysis.places((checkpoint, "checkpointed here"), (op, "computed here")),
        ),
        tuple(not_reentrant(analysis, checkpoint)),
    )


def _in_engine(analysis: Analysis) -> Iterator[Problem]:
    """A custom backward or a hook differentiates what it has computed itself, with grad mode off."""
    for run in asked_in_vain(analysis.capture):
        made = made_in_engine(analysis.capture, run)
        if made is None:
            continue
        name = output_of_layer(analysis, made) or name_of(analysis, made.outputs[0])
        inside = _functions(analysis, made.site)
        called = next((function for function in _functions(analysis, run.site) if function in inside), "")
        yield Problem(
            "error",
            f"{name} was computed while backward ran {f'`{short_name(called)}`' if called else 'a hook'}, where grad mode is "
            "off: it does not require grad, and cannot be differentiated",
            "Compute the tensor to differentiate under `with torch.enable_grad():`, from tensors that require grad.",
            analysis.places((made, "computed here, without a graph"), (run, "differentiated here")),
            (name,),
            ops=(made.index,),
            cures=tuple(
                (Wrap(frame, "with torch.enable_grad():"),)
                for frame in analysis.user_frames(made.site, "")
                if frame.function == called
            ),
        )


def _functions(analysis: Analysis, site: int) -> list[str]:
    """The program's functions of a site, innermost first."""
    return [frame.function for frame in analysis.capture.site(site) if not frame.library]
