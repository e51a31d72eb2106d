"""AG201 where backward reaches the graph of an earlier round, which an optimizer has stepped past since."""

from __future__ import annotations

from autograd_inspector.advice.carried_graphs import carried_name, carry_cures, cut_off
from autograd_inspector.advice.kept_tensors import kept_as, kept_by, kept_places
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.carried_over import carried_over
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.ag201_saved_tensor_modified.led_there import LedThere

_NO_HELP = "retain_graph=True does not help here: the parameters are no longer those that the graph was recorded with."


def earlier_round(analysis: Analysis, run: Backward, saver: Node, edits: list[Op]) -> LedThere | None:
    """None where backward stays in its own round, or something else than steps has modified what was saved."""
    earlier = analysis.timeline.completed_before(run)
    if not earlier or not 0 <= saver.op < earlier[-1].end or not all(op.has(Trait.STEP) for op in edits):
        return None
    last = next((other for other in earlier if other.end > saver.op), earlier[-1])
    carried = carried_over(analysis.capture, analysis.flow, run, earlier[-1])
    if carried is None or not any(last.end <= op.index for op in edits):
        return None
    reader, tensor = carried
    made, held, name = analysis.flow.birth(tensor), kept_by(analysis, tensor), carried_name(analysis, reader, tensor)
    if made is not None and _of_one_round(analysis, made, reader):
        return LedThere(
            f"; {name} was computed before that step, and this backward() needs its graph",
            f"Compute {name} again after the step. {_NO_HELP}",
            analysis.places((made, "computed before the step"), (reader, "used again here")),
            (),
        )
    cut = cut_off(analysis, reader, tensor, made)
    return LedThere(
        f"; {name}{kept_as(held, name)} leads this backward() back into the graph of an earlier iteration",
        f"{'Call ' if cut.startswith('detach()') else ''}{cut if cut.startswith('detach()') else cut[0].upper() + cut[1:]}. {_NO_HELP}",
        (*kept_places(analysis, held), *analysis.places((made, "carried over from here"), (reader, "used again here"))),
        tuple(carry_cures(analysis, (reader, tensor, last), run, unstepped=False)),
    )


def _of_one_round(analysis: Analysis, made: Op, reader: Op) -> bool:
    """Whether the program reads the value below the line that made it, before that line of the reader ran once more.

    A score that one loss is backpropagated through, and that another loss reads behind the step.
    """
    pair = meeting(analysis, made.site, reader.site)
    if pair is None or pair[0].lineno >= pair[1].lineno:
        return False
    return all(op.site != reader.site for op in analysis.capture.ops[made.index : reader.index])
