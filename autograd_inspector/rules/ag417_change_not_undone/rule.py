"""AG417: what is changed for an evaluation, and not changed back before training continues."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.merged_again import MergedAgain, merged_again
from autograd_inspector.analysis.modules.merged_twice import MergedTwice, merged_twice
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag417_change_not_undone.rounded import left_rounded
from autograd_inspector.rules.ag417_change_not_undone.switched import left_as_switched


def check(analysis: Analysis) -> Iterator[Problem]:
    """A change for an evaluation is never undone: a merge, a switched attribute.

    Why it matters
        An adapter is merged into its weight so that inference needs one product only. If the weight still has the
        earlier merge when training continues, the forward adds the adapter a second time, and each later merge adds
        another version of it. The frozen weight drifts, the model that is evaluated is not the one that is trained, and
        nothing raises. A flag that an evaluation switches off (deep supervision) or a cache that it fills does the
        same to the parameters that the forward no longer uses: they get no gradient from then on. `model.half()` for an
        export rounds the weights in place, and `model.float()` does not bring back what was lost.

    Example
        ::

            layer = net[0].requires_grad_(False)
            down, up = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(2, 4))
            optimizer = torch.optim.SGD([down, up], lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                (layer(x) + x @ down @ up).pow(2).mean().backward()
                optimizer.step()
                with torch.no_grad():
                    layer.weight += (down @ up).T
                    print(layer(x).mean().item())

    Fix
        ::

            layer = net[0].requires_grad_(False)
            down, up = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(2, 4))
            optimizer = torch.optim.SGD([down, up], lr=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                (layer(x) + x @ down @ up).pow(2).mean().backward()
                optimizer.step()
                with torch.no_grad():
                    layer.weight += (down @ up).T
                    print(layer(x).mean().item())
                    layer.weight -= (down @ up).T

    References
        "LoRA: Low-Rank Adaptation of Large Language Models" (2021), section 4.1, on switching between tasks.
    """
    yield from (
        _problem(analysis, together)
        for together in grouped(merged_again(analysis), lambda found: line_of(analysis, found.writes[0].site)).values()
    )
    twice: dict[object, list[MergedTwice]] = {}
    for each in merged_twice(analysis):
        twice.setdefault(line_of(analysis, each.again.site), []).append(each)
    yield from (_merged_twice(analysis, together) for together in twice.values())
    yield from left_as_switched(analysis)
    yield from left_rounded(analysis)


def _problem(analysis: Analysis, merged: list[MergedAgain]) -> Problem:
    first = merged[0]
    into = names_of(analysis, (each.into for each in merged))
    sources = names_of(analysis, dict.fromkeys(tensor for each in merged for tensor in each.sources))
    per_weight = [name_of(analysis, tensor) for tensor in first.sources]
    return Problem(
        "warning",
        f"`{first.writes[0].name}` adds a value computed from {join_names(per_weight)} to {into[0]} {len(first.writes)} times, "
        f"training continues in between, and nothing takes the earlier value out: {summarize_names(into)} "
        f"{agree(into, 'accumulates', 'accumulate')} all versions of it",
        "Undo each merge before training continues: subtract the same value, or write back a copy of the weight from "
        "before the merge. If a flag says whether the weight is merged, set it where the weight is written.",
        analysis.places(
            (first.writes[1], "added again here"),
            (first.step, "moved in between here"),
        ),
        (*into, *sources),
        ops=(first.writes[1].index,),
    )


def _merged_twice(analysis: Analysis, merged: list[MergedTwice]) -> Problem:
    first = merged[0]
    into = names_of(analysis, (each.into for each in merged))
    per_weight = [name_of(analysis, tensor) for tensor in first.sources]
    return Problem(
        "warning",
        f"`{first.again.name}` adds the same value, computed from {join_names(per_weight)}, to {into[0]} twice, and "
        f"`{first.undone.name}` takes it out once: {summarize_names(into)} {agree(into, 'keeps', 'keep')} the other one, and "
        f"{agree(into, 'drifts', 'drift')} with each merge",
        "Merge only where the weight is not merged yet: `if not self.merged: self.weight += delta`.",
        analysis.places(
            (first.again, "added again here"),
            (first.undone, "taken out once here"),
            (first.first, "added before here"),
        ),
        (*into, *per_weight),
        ops=(first.again.index,),
    )
