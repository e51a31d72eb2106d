"""The optimizer's state is lost, of another type, elsewhere, or that of another parameter."""

from __future__ import annotations

from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import Kind


def _after_step(name: str, *lines: str) -> Kind:
    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for call in anatomy.calls("step", "optimizer"):
            statement = anatomy.alone(call)
            if statement is not None:
                optimizer = anatomy.source(call.func.value)  # type: ignore[attr-defined]
                yield anatomy.after(statement, *(line.replace("{}", optimizer) for line in lines))

    return Kind(name, plant)


def _each(change: str) -> tuple[str, ...]:
    return (
        "for entries in {}.state.values():",
        "    for key, entry in entries.items():",
        "        if torch.is_tensor(entry) and entry.dim():",
        f"            entries[key] = {change}",
    )


KINDS = (
    _after_step("state cleared", "{}.state.clear()"),
    _after_step("state in another type", *_each("entry.to(torch.float64)")),
    _after_step("state in half", *_each("entry.half()")),
    _after_step("state elsewhere", *_each("entry.to('meta')")),
    _after_step(
        "state of another",
        "saved = {}.state_dict()",
        "kept = list(saved['state'].values())",
        "saved['state'] = dict(zip(saved['state'], kept[1:] + kept[:1]))",
        "{}.load_state_dict(saved)",
    ),
)
