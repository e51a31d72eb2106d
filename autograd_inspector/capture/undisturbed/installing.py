"""What a capture changes in torch, taken back whatever interrupts the change or the taking back.

Ctrl-C, an alarm or a timeout can strike between any two calls. So the way back is written down before a change is
made, and each way back is right whether or not the change was made, and however often it is gone. A context manager
would not do: one that is interrupted on its way in or out has no way back.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, Protocol

from autograd_inspector.capture.undisturbed.loading import Loading
from autograd_inspector.interrupts import is_interrupt


class Installation:
    """The changes that are made now."""

    def __init__(self) -> None:
        self._ways_back: list[Callable[[], object]] = []
        self._loading: Loading | None = None

    def made(self, way_back: Callable[[], object]) -> None:
        """A change is about to be made; that takes it back, if it was made."""
        self._ways_back.append(way_back)

    def when_loaded(self, module: str, put: Callable[[], object]) -> None:
        """Call ``put``, which observes a module, now, or when the program has imported it."""
        if self._loading is None:
            self._loading = Loading()
            self.made(self._loading.leave)
        self._loading.when_loaded(module, put)

    def replace(self, owner: Any, name: str, stand_in: Any) -> None:
        """Another value for an attribute, which stays if the program puts its own there.

        Who takes it from there meanwhile keeps it. A function is observed by a probe instead (``patches.around``),
        which needs no stand-in where the function is written in Python, and else one that serves all captures. What
        is put here is looked up anew at each use, or right without a capture, or must not call anything of ours when
        it is done: behind the switch of dynamo that would be compiled.
        """
        attributes = vars(owner)
        original = attributes[name]

        def back() -> None:
            if attributes.get(name) is stand_in:
                setattr(owner, name, original)

        self.made(back)
        setattr(owner, name, stand_in)

    def recode(self, function: FunctionType, code: CodeType) -> None:
        """Other code for a function, which stays if the program puts its own there."""
        original = function.__code__

        def back() -> None:
            if function.__code__ is code:
                function.__code__ = original

        self.made(back)
        function.__code__ = code

    def hook(self, register: Callable[[Any], Any], hook: Callable[..., Any]) -> None:
        """A global hook, through torch's function that registers one.

        What removes it is returned when it is registered already. Until then it is found where that function puts it.
        """
        tables = [value for name, value in register.__globals__.items() if name.startswith("_global")]
        handles: list[Any] = []

        def back() -> None:
            for handle in handles:
                handle.remove()
            for table in tables:
                for number in [number for number, held in getattr(table, "items", list)() if held is hook]:
                    table.pop(number, None)

        self.made(back)
        handles.append(register(hook))

    def take_back(self) -> None:
        """Undo all of them, the latest first. What goes wrong with one is raised when the others are undone.

        An interrupt that strikes here, too, passes when all is undone; after another one it may be called again.
        """
        try:
            self._take_back()
        except BaseException:
            self._take_back()
            raise

    def _take_back(self) -> None:
        failed: Exception | None = None
        for way_back in reversed(tuple(self._ways_back)):
            try:
                way_back()
            except Exception as failure:
                if is_interrupt(failure):
                    raise  # It is not undone yet.
                failed = failed or failure
        self._ways_back.clear()
        if failed is not None:
            raise failed


class Observer(Protocol):
    """What can be put in place."""

    def install(self, into: Installation) -> None:
        """Observe until the installation is taken back."""
