"""What models contain, and which call exchanged it: parameters replaced, converted in place, added, gone."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor

from autograd_inspector.capture.graph_walk import short
from autograd_inspector.capture.registry import shape_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Exchange

Content = tuple[int, str]
"""(tensor id, its shape, dtype and device)."""


class Contents:
    """Compares each look at a model with the one before."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._models: dict[int, dict[str, Content]] = {}
        self._cause: tuple[str, int] = ("", -1)

    def caused(self, api: str, site: int) -> None:
        """A call that may have exchanged something."""
        self._cause = (api, site)

    def look(self, model: int, parameters: Iterable[tuple[str, Tensor]]) -> None:
        """Note what is no longer as it was; the first look only remembers."""
        now = {name: (self.tape.id_of(parameter), _described(parameter)) for name, parameter in parameters}
        before = self._models.get(model)
        self._models[model] = now
        if before is None or before == now:
            return
        both = [name for name in now if name in before]
        exchange = Exchange(
            len(self.tape.ops),
            model,
            *self._cause,
            replaced=tuple((n, before[n][0], now[n][0]) for n in both if before[n][0] != now[n][0]),
            gone=tuple((name, content[0]) for name, content in before.items() if name not in now),
            added=tuple((name, content[0]) for name, content in now.items() if name not in before),
            altered=tuple(
                (n, now[n][0], before[n][1], now[n][1])
                for n in both
                if before[n][0] == now[n][0] and before[n] != now[n]
            ),
        )
        self.tape.exchanges.append(exchange)


def _described(parameter: Tensor) -> str:
    return f"{list(shape_of(parameter))} {short(parameter.dtype)} {short(parameter.device)}"
