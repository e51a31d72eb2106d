"""What happened between two moments, looked up by tensor and by optimizer."""

from autograd_inspector.analysis.timeline import Timeline, together
from autograd_inspector.model.autograd import Backward, GraphHead
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradWrite, Step
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StateLoaded, ZeroGradCalled


def run(index, start, end, reached=(1,), **given):
    return Backward(index, given.pop("api", "backward"), start, end, 0, (), GraphHead(), reached, **given)


RUNS = (
    run(0, 2, 3),
    run(1, 5, 9, (1, 2)),
    run(2, 6, 7, (2,), nested_in=1),
    run(3, 9, 9, error="RuntimeError"),
    run(4, 12, 12, api="grad"),
)


def test_runs_that_were_over_before_one():
    """Those of the program's own that did not raise, the first of them first, or the last from the end."""
    earlier = Timeline(Capture(backwards=RUNS)).completed_before(RUNS[4])
    assert ([r.index for r in earlier], earlier[-1].index, len(earlier)) == ([0, 1], 1, 2)
    assert [r.index for r in reversed(earlier)] == [1, 0]
    assert [r.index for r in earlier[1:]] == [1]
    assert not Timeline(Capture(backwards=RUNS)).completed_before(RUNS[0])


def test_runs_are_found_by_when_they_began():
    """Both ends of a stretch count; those that raised are no backwards."""
    timeline = Timeline(Capture(backwards=RUNS))
    assert [r.index for r in timeline.runs.within(5, 9)] == [1, 2, 3]
    assert [r.index for r in timeline.backwards.within(0, 99)] == [0, 1, 2]
    assert [r.index for r in timeline.runs.since(6)] == [2, 3, 4]
    assert [r.index for r in timeline.runs.before(6)] == [1, 0]
    assert list(timeline.runs.places(13, 4)) == []


def test_the_next_run_is_one_that_began_after_the_end():
    """A run within another is not what follows it."""
    timeline = Timeline(Capture(backwards=RUNS))
    following = [timeline.next_run(r) for r in RUNS]
    assert [None if r is None else r.index for r in following] == [1, 3, 3, 4, None]


def test_runs_are_found_by_the_leaf_that_they_reach():
    """Each in program order."""
    timeline = Timeline(Capture(backwards=RUNS))
    assert [r.index for r in timeline.runs_to(2).all] == [1, 2]
    assert [r.index for r in timeline.backwards_to(1).all] == [0, 1]
    assert timeline.runs_to(7).all == []


def test_events_of_several_tensors_come_together_in_program_order():
    """Also those at one moment."""
    writes = tuple(
        GradWrite(at, tensor, -1, site) for site, (at, tensor) in enumerate([(3, 1), (3, 2), (3, 1), (5, 2)])
    )
    timeline = Timeline(Capture(grad_writes=writes))
    found = together(map(timeline.writes_of, (2, 1)), 3, 3)
    assert [write.site for write in found] == [0, 1, 2]


def test_optimizers_are_found_by_what_they_hold():
    """With their steps, and the calls of their zero_grad()."""
    held = [OptimizerRecord(n, "SGD", "torch.optim", parameters=(tensors,)) for n, tensors in enumerate([(1, 2), (2,)])]
    capture = Capture(
        placement=Placement(optimizers=tuple(held)),
        steps=(Step(4, 0, 4, 0), Step(5, 1, 5, 0), Step(8, 0, 8, 0)),
        events=(ZeroGradCalled(3, 0, 1, "SGD"), StateLoaded(6, 1, 1, "SGD", (2,))),
    )
    timeline = Timeline(capture)
    assert (timeline.holders([1]), timeline.holders([2]), timeline.held_by_several) == ([0], [0, 1], {2: [0, 1]})
    assert [step.at for step in timeline.steps_of(0).all] == [4, 8]
    assert [call.at for call in timeline.clearings_of(1).within(0, 9)] == [3]
    assert [load.at for load in timeline.loads_of(1).within(0, 9)] == [6]
