"""AG109 where backward ends at parameters into which the program copied what another network computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.wording import agree, summarize_names


def written_values(analysis: Analysis, copies: Sequence[int]) -> Iterator[Problem]:
    """One finding, where each of the parameters was given values that have a graph: they were to be trained through it."""
    writes = [_written(analysis, tensor) for tensor in copies]
    given = [op for op in writes if op is not None]
    if not given or len(given) < len(writes):
        return
    leaves = Leaves(analysis.capture, analysis.flow)
    sources = dict.fromkeys(leaf for op in given for leaf in leaves.of(op.inputs[1], op.index))
    names = names_of(analysis, copies)
    makers = names_of(analysis, [leaf for leaf in sources if leaf in analysis.learning])
    yield Problem(
        "warning",
        f"`{given[0].name}` writes values computed from {summarize_names(makers)} into {summarize_names(names)} without a "
        f"graph: backward ends there, no optimizer holds {agree(names, 'it', 'them')}, and the loss does not train what "
        "made the values",
        "Compute with the new values themselves: `torch.func.functional_call(module, {name: value}, (x,))` runs a module "
        "with them and keeps their graph.",
        analysis.places((given[-1], "written here")),
        (*names, *makers, given[0].name),
        ops=(given[-1].index,),
    )


def _written(analysis: Analysis, tensor: int) -> Op | None:
    """The last op that copied into a parameter, if that were values with a graph."""
    capture = analysis.capture
    writes = analysis.writes_back(capture.tensors[tensor].storage, 0, len(capture.ops))
    last = next((op for op, _ in writes if not op.has(Trait.STEP | Trait.BACKWARD)), None)
    if last is None or not is_a(last.name, OpKind.COPIES_INTO) or len(last.inputs) != 2:
        return None
    source = capture.tensors[last.inputs[1]]
    made = source.birth >= 0 and capture.ops[source.birth].recorded
    return last if made and source.requires_grad else None
