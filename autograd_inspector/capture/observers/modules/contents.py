"""What models contain, and which call exchanged it: parameters replaced, converted in place, added, gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from torch import Tensor

from autograd_inspector.capture.graph_walk.saved_tensors import short
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import device_of, dtype_of, shape_of
from autograd_inspector.model.event import ParameterReplacement

Facts = tuple[Any, Any, Any]
"""(shape, dtype, device)."""
Content = tuple[int, Facts]
"""(tensor id, its facts)."""
_UNKNOWN = ("", -1)


class Contents:
    """Compares each look at a model with the one before."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._models: dict[int, dict[str, Content]] = {}
        self._causes: dict[int, tuple[str, int]] = {}
        """Model -> the last call since it was looked at that may have exchanged something in it."""

    def tensors(self) -> Iterator[int]:
        """What the models had at the last look."""
        for model in self._models.values():
            yield from (tensor for tensor, _ in model.values())

    def fold(self, models: Collection[int]) -> None:
        """Forget all but those models."""
        self._models = {number: content for number, content in self._models.items() if number in models}
        self._causes = {number: cause for number, cause in self._causes.items() if number in models}

    def caused(self, models: Iterable[int], api: str, site: int) -> None:
        """A call that may have exchanged something in those models."""
        self._causes.update(dict.fromkeys(models, (api, site)))

    def inherit(self, whole: int, part: int, path: str) -> None:
        """What a model had at the last look under a path is what the part that is left of it had."""
        prefix = f"{path}." if path else ""
        before = self._models.pop(whole, {})
        self._causes[part] = self._causes.pop(whole, _UNKNOWN)
        self._models[part] = {
            name.removeprefix(prefix): content for name, content in before.items() if name.startswith(prefix)
        }

    def look(self, model: int, parameters: Iterable[tuple[tuple[str, Tensor], int]]) -> None:
        """Note what is no longer as it was, of ((name, parameter), its number); the first look only remembers."""
        now: dict[str, Content] = {
            name: (tensor, (shape_of(parameter), dtype_of(parameter), device_of(parameter)))
            for (name, parameter), tensor in parameters
        }
        before, cause = self._models.get(model), self._causes.pop(model, _UNKNOWN)
        self._models[model] = now
        if before is None or before == now:
            return
        both = [name for name in now if name in before]
        replacement = ParameterReplacement(
            len(self.recording.ops),
            model,
            *cause,
            replaced=tuple((n, before[n][0], now[n][0]) for n in both if before[n][0] != now[n][0]),
            gone=tuple((name, content[0]) for name, content in before.items() if name not in now),
            added=tuple((name, content[0]) for name, content in now.items() if name not in before),
            altered=tuple(
                (n, now[n][0], _described(before[n][1]), _described(now[n][1]))
                for n in both
                if before[n][0] == now[n][0] and before[n] != now[n]
            ),
        )
        self.recording.replacements.append(replacement)


def _described(facts: Facts) -> str:
    shape, dtype, device = facts
    return f"{list(shape)} {short(dtype)} {short(device)}"
