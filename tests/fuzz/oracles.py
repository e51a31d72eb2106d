"""What must hold of every program."""

from __future__ import annotations

import re

import torch

from autograd_inspector import Report
from autograd_inspector.model.finding import Finding

from .out_of_place import UndefinedError
from .program import At, Program, Step, runnable, source_of
from .reach import REENTRANT, below, drawn_below
from .reference import out_of_place, recorded, touched
from .running import LEAVES, Run, agree, gradients, grads, leaves, run, state
from .tried import TRIED, VERSION_ERROR, counted


class Counterexample(AssertionError):
    """A program for which an oracle does not hold."""


def check(program: Program) -> None:
    """Run the program every way and compare."""
    plain, inspected = run(program), run(program, inspected=True)
    report = inspected.report
    assert report is not None
    counted(program, plain, report)
    undisturbed(program, plain, inspected)
    version_errors(program, plain, inspected, report)
    if not plain.error:
        reached(program, inspected, report)
        silently_wrong(program, plain, inspected, report)


def fail(program: Program, why: str, ended: Run) -> None:
    """Raise, with the program as runnable Python and what was said of it."""
    findings = "\n".join(f"{f.rule} {f.severity}: {f.message}" for f in ended.report.findings) if ended.report else ""
    raise Counterexample(f"{why}\n\n{runnable(program)}\n# it raised: {ended.error_text or 'nothing'}\n{findings}")


def of(report: Report, rule: str) -> list[Finding]:
    """The alarms of a rule."""
    return [f for f in report.findings if f.rule == rule and f.severity != "info"]


def undisturbed(program: Program, plain: Run, inspected: Run) -> None:
    """Outputs, gradients, versions, histories, optimizer state and the exception are those of the plain run."""
    before, after = state(plain), state(inspected)
    for name in before | after:
        if before.get(name) != after.get(name):
            fail(program, f"{name} differs: it is {after.get(name)} when inspected, not {before.get(name)}", inspected)


def version_errors(program: Program, plain: Run, inspected: Run, report: Report) -> None:
    """Torch raises its version error exactly when AG201 is an error; the culprits that it names are the culprits."""
    raised = VERSION_ERROR in plain.error_text
    errors = [f for f in of(report, "AG201") if f.severity == "error"]
    if all(run.api == "alive" for run in report.capture.backwards):
        TRIED["ended before any backward"] += 1
        return  # What AG201 says then is what a backward would raise.
    if raised != bool(errors):
        fail(program, f"torch {'raised its' if raised else 'raised no'} version error, AG201: {len(errors)}", inspected)
    if not raised:
        return
    ended = program.until(plain.raised_in)
    named = [culprits(finding, inspected) for finding in errors]
    every = set().union(*named)
    if not every:
        fail(program, "AG201 names no culprit", inspected)
    repaired(program, ended.without(every), report, inspected)
    rebound = ended.rebound(every)
    if rebound is not None:
        repaired(program, rebound, report, inspected)
        TRIED["version errors gone out of place"] += 1
    for culprit in every:
        alone = run(ended.without(every - {culprit}))
        TRIED["culprits enough by themselves"] += VERSION_ERROR in alone.error_text
        TRIED["culprits named"] += 1


def repaired(program: Program, changed: Program, report: Report, inspected: Run) -> None:
    """Without the culprits the error is gone; where savers are hidden it may take several reports."""
    ended = run(changed)
    while VERSION_ERROR in ended.error_text:
        if not hidden(report):
            fail(program, f"the error is still there in\n{source_of(changed).text}", inspected)
        TRIED["version errors behind a version error"] += 1
        again = run(changed, inspected=True)
        assert again.report is not None
        report = again.report
        every = set().union(*(culprits(finding, again) for finding in of(report, "AG201")))
        if not every:
            fail(changed, "AG201 names no culprit of the next error", again)
        changed = changed.without(every)
        ended = run(changed)


def hidden(report: Report) -> bool:
    """Whether some node keeps tensors that cannot be seen before torch's error tells of them.

    ``CopySlices``, which an in-place op on a view leaves, has the op's own node inside; a reentrant checkpoint records
    nothing before backward runs it again; a hook packs what it likes.
    """
    nodes = report.capture.nodes
    closed = ("CopySlices", REENTRANT)
    return any(any(c in node.name for c in closed) or any(s.status == "packed" for s in node.saved) for node in nodes)


def culprits(finding: Finding, ended: Run) -> set[At]:
    """The steps that a finding says modified something."""
    return {
        ended.source.lines[place.lineno]
        for place in finding.locations
        if place.role == "modified here" and place.filename == ended.filename
    }


def reached(program: Program, ended: Run, report: Report) -> None:
    """A parameter has a gradient exactly when the graph of some backward reaches it."""
    capture = report.capture
    ids = dict(zip(LEAVES, (read.tensor for read in capture.grad_reads[-len(LEAVES) :]), strict=True))
    runs = [run for run in capture.backwards if run.api == "backward"]
    held = {t for run in runs for t in run.reached}
    sure = {t for run in runs for t in below(report.capture.graph_of(run))}
    drawn, surely = drawn_below(report.graph, ""), drawn_below(report.graph, REENTRANT)
    stale = {line.split(".")[0] for line in program.prelude if ".grad = " in line}
    cleared = any(step.text == "optimizer.zero_grad()" for step in program.steps)
    for name, leaf in leaves(ended):
        if name in stale or cleared:
            continue  # It had a gradient before, or lost it again.
        TRIED["parameters unreachable" if leaf.grad is None else "parameters reached"] += 1
        if leaf.grad is None and ids[name] in sure:
            fail(program, f"{name}.grad is None, but reached", ended)
        if leaf.grad is not None and ids[name] not in held:
            fail(program, f"{name}.grad is {leaf.grad}, but not reached", ended)
        if (ids[name] in surely) if leaf.grad is None else (ids[name] not in drawn):
            fail(program, f"{name}.grad is {leaf.grad}, in the merged graph: {ids[name] in drawn}", ended)


def trusted(program: Program, right: Run) -> None:
    """The gradients of the recorded values are those of the program in which nothing is modified."""
    recorded_gradients = grads(right)
    try:
        apart = out_of_place(program)
    except UndefinedError:
        TRIED["undefined: it reads what it writes"] += 1
        return
    if not all(gradient is None or gradient.isfinite().all() for gradient in recorded_gradients.values()):
        TRIED["not finite"] += 1
    elif agree(recorded_gradients, apart):
        TRIED["references agree"] += 1
    elif agree(recorded_gradients, out_of_place(program, torch.float32)):
        TRIED["references agree only in the same precision"] += 1  # A value lies at the kink of a relu or a clamp.
    else:
        fail(program, f"the references disagree: {recorded_gradients} out of place {apart}", right)


def ignores_an_argument(step: Step) -> bool:
    """Whether a reentrant checkpoint gives an argument no gradient: what made it is not differentiated."""
    arguments = re.findall(r"\ba\d+", step.signature)
    body = " ".join(line.text for line in step.body)
    return step.kind == "reentrant checkpoint" and any(not re.search(rf"\b{name}\b", body) for name in arguments)


def silently_wrong(program: Program, plain: Run, inspected: Run, report: Report) -> None:
    """Gradients of other values than the recorded ones are AG202's, and only they are."""
    findings = of(report, "AG202")
    right = recorded(program)
    if right.error is not None:
        fail(program, f"the reference raised {right.error_text}", inspected)
    trusted(program, right)
    differs = gradients(plain) != gradients(right)
    if differs and any(step.kind == "reentrant checkpoint" for step in program.steps):
        differs = not agree(grads(plain), grads(right))  # It adds up the same gradients in another order.
    if differs:
        TRIED["gradients silently wrong"] += 1
    if differs and not findings:
        fail(program, "the gradients are silently wrong and AG202 says nothing", inspected)
    if any(f.severity == "error" for f in findings) and not differs:
        TRIED["AG202 errors on gradients that a write left as they were"] += 1
        if not touched(program) and not any(map(ignores_an_argument, program.steps)):
            fail(program, "AG202 is an error, and no write touched what backward needed", inspected)
