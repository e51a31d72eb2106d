"""AG202 through NumPy: an array that shares a saved tensor's memory is written."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.finding import Finding
from autograd_inspector.rules.catalogue import Facts, unique
from autograd_inspector.rules.saving import Saved, made_at, saved_name, saver_name


def numpy_edits(facts: Facts, run: Backward, seen: set[int]) -> Iterator[Finding]:
    """A NumPy alias of a saved tensor that the source writes to: likely, for NumPy's writes cannot be observed."""
    for alias in facts.capture.alias_writes:
        op = facts.capture.ops[alias.op]
        hit = _hit(facts, run, alias)
        if hit is None or alias.site in seen:
            continue
        seen.add(alias.site)
        name = saved_name(facts, *hit)
        inward = op.name == "from_numpy"
        yield Finding(
            "AG202",
            "unseen-edit",
            "warning",
            f"{name} was saved for backward by {saver_name(facts, hit[0])} and its memory is written through NumPy "
            f"(`{alias.how}`): no version counter moves, so the gradients are likely wrong",
            "Copy the array: `torch.tensor(array)`, or fill a new array for each batch."
            if inward
            else f"Work on a copy: `{name}.detach().numpy().copy()`, or an out-of-place NumPy call.",
            unique(
                [
                    *facts.chain(alias.site, "written through NumPy here"),
                    *facts.chain(op.site, "memory shared with the array here" if inward else "NumPy alias made here"),
                    *facts.chain(run.site, "backward used the memory here"),
                ]
            ),
            (name,),
            ("Likely, from the source: NumPy's own writes cannot be observed.",),
            (alias.op,),
        )


def _hit(facts: Facts, run: Backward, alias: AliasWrite) -> Saved | None:
    """The saved tensor that the write reaches after it was saved and before backward used it."""
    op = facts.capture.ops[alias.op]
    tensor = facts.capture.tensors[(op.outputs if op.name == "from_numpy" else op.inputs)[0]]
    if alias.op >= run.start or _order(facts, run.site, alias.site) < 0:
        return None
    for node in run.graph.nodes:
        for saved in node.saved:
            if saved.storage != tensor.storage or saved.storage < 0 or saved.status != "valid" or saved.unused:
                continue
            later = made_at(node) <= alias.op
            if later or (node.op >= 0 and _order(facts, facts.capture.ops[node.op].site, alias.site) < 0):
                return node, saved
    return None


def _order(facts: Facts, site: int, write: int) -> int:
    """Whether a site stands before (-1) or after (1) the write in the write's own function; 0: not in it."""
    place = facts.capture.place(write)
    for frame in facts.capture.site(site):
        if place is not None and (frame.filename, frame.function) == (place.filename, place.function):
            return (frame.lineno > place.lineno) - (frame.lineno < place.lineno)
    return 0
