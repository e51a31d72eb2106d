"""Of which backwards a gradient is the sum that a step consumes, on captures made by hand.

Tensor 1 is the parameter, 9 its gradient; each has memory of its own.
"""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.driven import driven_by
from autograd_inspector.analysis.gradients.origins import GradientOrigin, Loss, gradient_origins
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.autograd import Backward, GraphHead, Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead, GradWrite, ParameterStep, Step
from autograd_inspector.model.location import Location, Site
from autograd_inspector.model.op import Op, Write
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ZeroGradCalled
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.views.summaries.gradient_origins import in_words

P, G = 1, 9


def tensor(number, variable=""):
    return TensorRecord(
        number, "activation", (2,), "float32", "cpu", 8, requires_grad=True, leaf=True, storage=number, extent=8,
        variable=variable,
    )  # fmt: skip


def ops(changed):
    """Twenty ops that do nothing, but for those that are given: index -> (name, inputs, versions, written)."""
    made = []
    for index in range(20):
        name, inputs, versions, written = changed.get(index, ("sin", (), (), None))
        writes = () if written is None else (Write(written, written, 0, 1),)
        made.append(Op(index, name, inputs, versions, (), 0, writes=writes))
    return tuple(made)


def run(index, at, *, stale=True, **given):
    stale_leaves = (P,) if stale else ()
    return Backward(index, "backward", at, at, given.pop("site", 0), (), GraphHead(given.pop("roots", ())),
                    given.pop("reached", (P,)), stale=stale_leaves, **given)  # fmt: skip


def step(at, gradient=G):
    return Step(at, 0, at, 0, (ParameterStep(P, gradient, 0, 1, 0, 0),))


def captured(*runs, steps=(10,), changed=None, **given):
    held = OptimizerRecord(0, "SGD", "torch.optim", parameters=((P,),))
    return Capture(
        ops=ops(changed or {}),
        tensors=tuple(map(tensor, range(12))),
        sites=(Site((Location("train.py", 31, "run"),)), Site((Location("train.py", 40, "run"),))),
        backwards=runs,
        steps=tuple(step(at) for at in steps),
        placement=Placement(optimizers=(held,)),
        **given,
    )


def consumed(capture, at=-1):
    (each,) = GradientSources(Analysis(capture)).of(capture.steps[at])
    return [c.run.index for c in each.contributions], each.beginning


def test_the_first_run_that_finds_none_begins_the_sum():
    """Those before it have been cleared, whoever did it."""
    capture = captured(run(0, 2, stale=False), run(1, 4, stale=False), run(2, 6))
    assert consumed(capture) == ([1, 2], "empty")


def test_zeros_begin_a_sum():
    """zero_grad() in place, or an op that fills with zeros; a call at the run's own index came before it."""
    called = ZeroGradCalled(5, 0, 0, "SGD")
    assert consumed(captured(run(0, 4), run(1, 6), events=(called,))) == ([1], "cleared")
    assert consumed(captured(run(0, 5), run(1, 6), events=(called,))) == ([0, 1], "cleared")
    zeroed = {5: ("zero_", (G,), (0,), G)}
    assert consumed(captured(run(0, 4), run(1, 6), changed=zeroed)) == ([1], "cleared")
    assert consumed(captured(run(0, 4), changed={7: ("zero_", (G,), (0,), G)})) == ([], "cleared")


def test_what_is_assigned_or_copied_replaces_the_sum():
    """Of what it was made nothing is claimed."""
    assert consumed(captured(run(0, 4), run(1, 6), grad_writes=(GradWrite(5, P, G, 0),))) == ([1], "replaced")
    copied = {5: ("copy_", (G, 3), (0, 0), G)}
    assert consumed(captured(run(0, 4), run(1, 6), changed=copied)) == ([1], "replaced")


def test_a_clear_at_the_very_index_of_a_run_came_before_it():
    """The gradient would not be there otherwise."""
    write = GradWrite(4, P, -1, 0)
    assert consumed(captured(run(0, 4, stale=False), run(1, 6), grad_writes=(write,))) == ([0, 1], "empty")


def test_what_the_step_before_has_left_is_older():
    """The runs since the last step are told, and that they were added to something."""
    capture = captured(run(0, 2, stale=False), run(1, 8), steps=(5, 10))
    assert consumed(capture) == ([1], "older")
    assert consumed(capture, 0) == ([0], "empty")


def test_rewrites_stand_with_the_contribution_before_them():
    """Clipping between the last run and the step, a multiplication between two runs."""
    changed = {5: ("mul_", (G,), (0,), G), 8: ("_foreach_mul_", (G,), (0,), G)}
    capture = captured(run(0, 4, stale=False), run(1, 6), changed=changed)
    (each,) = GradientSources(Analysis(capture)).of(capture.steps[0])
    assert [[op.index for op in c.rewrites] for c in each.contributions] == [[5], [8]]


def test_runs_within_a_run_are_one_contribution():
    """Checkpoints that each reach the parameter belong to the backward that the program called."""
    runs = run(0, 4, stale=False, reached=()), run(1, 5, stale=False, nested_in=0), run(2, 6, nested_in=0), run(3, 8)
    capture = captured(*runs)
    assert consumed(capture) == ([0, 3], "empty")
    (each,) = GradientSources(Analysis(capture)).of(capture.steps[0])
    assert [part.index for part in each.contributions[0].parts] == [1, 2]


def test_a_hook_that_takes_the_gradient_ends_the_sum():
    """What was there before is gone with it."""
    assert consumed(captured(run(0, 2, stale=False), run(1, 4, empty=(P,)), run(2, 6))) == ([2], "taken")


def test_a_step_without_gradient_consumes_none():
    """Nothing is told of it."""
    capture = captured(run(0, 2, stale=False))
    capture = Capture(backwards=capture.backwards, tensors=capture.tensors, ops=capture.ops, steps=(step(10, -1),))
    assert not list(GradientSources(Analysis(capture)).of(capture.steps[0]))


def test_the_value_that_a_contribution_was_computed_at():
    """The version that the last op of its graph read; nothing where no op of the graph is known to read it."""
    nodes = Node(0, "A", 1, (), op=1), Node(1, "B", 2, (), op=3), Node(2, "C", 3, ((1, 0),), op=2), Node(3, "D", 4, ())
    read = {1: ("mul", (P,), (4,), None), 3: ("mul", (P, 2), (5, 0), None)}
    runs = run(0, 4, stale=False, roots=(0,)), run(1, 5, roots=(2,)), run(2, 6, roots=(3,))
    capture = captured(*runs, changed=read, nodes=nodes)
    sources = GradientSources(Analysis(capture))
    (each,) = sources.of(capture.steps[0])
    values = [sources.value_at(c, P) for c in each.contributions]
    assert [None if value is None else (value.op, value.version) for value in values] == [(1, 4), (3, 5), None]


def test_what_gradients_went_into():
    """What is computed of them, and the memory that it is written to; not what was written before they were read."""
    changed = {
        1: ("add_", (P, 2), (0, 0), P),
        6: ("mul", (G,), (0,), None),
        7: ("add_", (P, G), (0, 0), P),
        8: ("mul_", (3, 4), (0, 0), 3),
    }
    capture = captured(run(0, 4, stale=False), changed=changed, grad_reads=(GradRead(5, P, G, 0, leaf=True),))
    analysis = Analysis(capture)
    driven = driven_by(analysis, [P], 4, 10)
    assert {storage: [op.index for op in ops] for storage, ops in driven.storages.items()} == {P: [7]}
    assert not driven_by(analysis, [P], 6, 10).storages


def test_origins_in_words():
    """Each loss with its line, how often, and what it was added to."""
    tensors = tuple(tensor(n, {2: "d_loss", 3: "g_loss"}.get(n, "")) for n in range(12))
    losses = [
        Backward(n, "backward", at, at, site, (root,), GraphHead(), (P,), stale=stale)
        for n, (at, site, root, stale) in enumerate([(2, 0, 2, ()), (4, 0, 2, (P,)), (6, 1, 3, (P,))])
    ]
    base = captured(*losses)
    capture = Capture(
        ops=base.ops, tensors=tensors, sites=base.sites, backwards=base.backwards, steps=base.steps,
        placement=base.placement,
    )  # fmt: skip
    origin = GradientOrigin((Loss("d_loss", 0, 2), Loss("g_loss", 1)))
    assert gradient_origins(capture) == {P: origin}
    assert in_words(capture, origin) == "from `d_loss` (train.py:31) ×2 and `g_loss` (train.py:40), not cleared between"
