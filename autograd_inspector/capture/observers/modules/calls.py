"""nn.Modules: fully qualified names, and the call stack of modules."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType

from torch import Tensor, nn

from autograd_inspector.capture.lines.local_names import held_modules
from autograd_inspector.capture.observers.modules.contents import Contents
from autograd_inspector.capture.observers.modules.conversions import Conversions
from autograd_inspector.capture.observers.modules.plain import plain_attributes
from autograd_inspector.capture.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.model.op import ModuleCall


class Root:
    """A module that nobody contains, as far as the capture saw: its name and what its tensors are called."""

    def __init__(self, module: nn.Module, number: int) -> None:
        self.ref = weakref.ref(module)
        self.type = type(module).__name__
        self.number = number
        self.variable = ""
        self.predecessor = -1
        """The number of the model that this one was a part of until that was gone; -1: none."""


class Modules:
    """Names modules and their tensors; follows which module call the program is in."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard
        self.roots: dict[int, Root] = {}
        self._met = 0
        self.names: dict[int, dict[int, list[str]]] = {}
        """tensor id -> root number -> its names there."""
        self.current: dict[int, dict[str, int]] = {}
        """root number -> name -> the tensor that had it at the last look."""
        self.plain: dict[str, dict[int, None]] = {}
        """Attribute that only looks as if it froze something -> the parameters that it was meant for."""
        self.contents = Contents(recording)
        self.stale = False
        """Something may have been exchanged since the last look."""
        self._conversions = Conversions(recording, guard, self)
        self._known: dict[int, tuple[weakref.ref[nn.Module], int, str]] = {}
        self._counts: dict[int, int] = {}
        self._stack: list[tuple[int, nn.Module]] = []

    def install(self, into: Installation) -> None:
        """What observes registration, conversion and loading."""
        self._conversions.install(into)

    def close(self) -> None:
        """Let go of the modules whose call never came back."""
        self._stack.clear()

    # --- the module call stack ---------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """How many calls are open."""
        return len(self._stack)

    def enter(self, module: nn.Module) -> None:
        """A call of that module begins."""
        if self.recording.active():
            self._guard.run(self._push, module)

    def _push(self, module: nn.Module) -> None:
        recording = self.recording
        if self.stale and not self._stack:
            self.rescan()
        root, path = self.place_of(module)
        key = id(module)
        nth = self._counts[key] = self._counts.get(key, 0) + 1
        number = len(recording.calls)
        inplace = bool(getattr(module, "inplace", False))
        site = recording.stacks.here(0) if not self._stack or inplace or not path else -1
        kind, at, training = type(module).__name__, len(recording.ops), bool(getattr(module, "training", True))
        recording.calls.append(ModuleCall(number, path, kind, root, nth, recording.call, site, inplace, at, training))
        self._stack.append((recording.call, module))
        recording.call = number

    def leave(self, depth: int) -> None:
        """The call outside which so many are open has ended, and with it those inside."""
        if len(self._stack) > depth:
            self.recording.call = self._stack[depth][0]
            del self._stack[depth:]

    # --- folding -------------------------------------------------------------------------------------------------

    def open_calls(self) -> list[int]:
        """The calls that the program is in, and those outside them."""
        return [outer for outer, _ in self._stack]

    def holds(self) -> Iterator[int]:
        """The tensors that the models have."""
        for within in self.current.values():
            yield from within.values()
        yield from self.contents.tensors()
        for tensors in self.plain.values():
            yield from tensors

    def fold(self, tensors: set[int], calls: Iterable[ModuleCall]) -> None:
        """Forget the names of other tensors, and modules that are gone and that no call tells of."""
        self.names = {tensor: names for tensor, names in self.names.items() if tensor in tensors}
        self._known = {key: known for key, known in self._known.items() if known[0]() is not None}
        self._counts = {key: count for key, count in self._counts.items() if key in self._known}
        told = {call.root for call in calls} | {root for names in self.names.values() for root in names}
        gone = [n for n, root in self.roots.items() if root.ref() is None and n not in told]
        for number in gone:
            del self.roots[number]
            self.current.pop(number, None)
        self._known = {key: known for key, known in self._known.items() if known[1] in self.roots}
        self.contents.fold(self.roots)

    def settle(self, tensors: Mapping[int, int], models: Mapping[int, int]) -> None:
        """Number tensors and models anew."""
        self.names = {
            tensors[tensor]: {models[root]: list(names) for root, names in roots.items() if root in models}
            for tensor, roots in self.names.items()
            if tensor in tensors
        }
        self.current = {
            models[root]: {name: tensors[t] for name, t in within.items()} for root, within in self.current.items()
        }
        self.roots = {models[number]: root for number, root in self.roots.items()}
        for number, root in self.roots.items():
            root.number, root.predecessor = number, models.get(root.predecessor, -1)

    # --- names ---------------------------------------------------------------------------------------------------

    def place_of(self, module: nn.Module) -> tuple[int, str]:
        """(root number, qualified name within that root) of a module."""
        known = self._known.get(id(module))
        if known is None or known[0]() is not module or self._gone(known[1]):
            parent = self._stack[-1][1] if self._stack else None
            inside = self._known.get(id(parent)) if parent is not None else None
            root = self.roots[inside[1]].ref() if inside is not None else None
            if root is not None and any(child is module for child in root.modules()):
                self.scan(root)
            else:
                self.scan(_outermost(module, self.recording.stacks.stop))
            known = self._known[id(module)]
        return known[1], known[2]

    def path_of(self, module: nn.Module) -> str | None:
        """The qualified name of a module that was met before, None for any other."""
        known = self._known.get(id(module))
        return known[2] if known is not None and known[0]() is module else None

    def scan(self, root: nn.Module) -> Root:
        """(Re)read the names of a root's modules, parameters and buffers."""
        number = next((r.number for r in self.roots.values() if r.ref() is root), -1)
        unsettled, self.stale = self.stale, True  # Until it is done: an interrupt may strike.
        if number < 0:
            number = self._met
            made = Root(root, number)
            self.roots[number], self._met = made, number + 1
            self.roots[number].variable = _variable_of(root, self.recording.stacks.stop)
            self._succeed(root, number)
        for name, child in root.named_modules():
            known = self._known.get(id(child))
            if known is None or known[0]() is not child or known[1] == number or not known[2] or self._gone(known[1]):
                self._known[id(child)] = (weakref.ref(child), number, name)
        registry = self.recording.registry
        current: dict[str, int] = {}
        wrapper = _wrapper_prefix(root)
        parameters = list(root.named_parameters(remove_duplicate=False))
        for given, parameter in parameters:
            name = given.removeprefix(wrapper)
            self._name(parameter, number, name)
            current[name] = self.recording.id_of(parameter)
            registry.parameters.add(current[name])
        for name, buffer in root.named_buffers(remove_duplicate=False):
            self._name(buffer, number, name.removeprefix(wrapper))
            registry.buffers.add(self.recording.id_of(buffer))
        for name, tensor in plain_attributes(self.recording, root):
            self.plain.setdefault(name, {})[tensor] = None
        # functional_call puts other tensors in their place, for one call: these are not what the model has.
        lent = any(not isinstance(parameter, nn.Parameter) for _, parameter in parameters)
        if not lent or number not in self.current:
            self.current[number] = current
        if not lent:
            self.contents.look(number, parameters)
        self.stale = unsettled
        return self.roots[number]

    def _gone(self, number: int) -> bool:
        """Whether nobody holds that root any more."""
        return self.roots[number].ref() is None

    def _succeed(self, root: nn.Module, number: int) -> None:
        """A part of a model that is gone becomes one of its own: it is compared with what it was at the last look."""
        known = self._known.get(id(root))
        if known is not None and known[0]() is root and self._gone(known[1]):
            self.roots[number].predecessor = known[1]
            self.current.pop(known[1], None)
            self.contents.inherit(known[1], number, known[2])

    def adopt(self, parameters: Iterable[Tensor]) -> None:
        """Name parameters that an optimizer was given: by the modules of the user's frames, else by their variables."""
        given = list(parameters)
        missing = {id(p) for p in given if self.recording.id_of(p) not in self.names}
        for _, candidate in held_modules(self.recording.stacks.stop) if missing else ():
            if any(id(p) in missing for p in candidate.parameters()):
                self.scan(_outermost(candidate, self.recording.stacks.stop))
                missing -= {id(p) for p in candidate.parameters()}
        self.recording.name_variables([p for p in given if id(p) in missing])

    def look_around(self) -> None:
        """Meet the modules that the running functions hold in variables."""
        for _, candidate in held_modules(self.recording.stacks.stop):
            if self.path_of(candidate) is None:
                self.scan(_outermost(candidate, self.recording.stacks.stop))

    def rescan(self) -> None:
        """Read the names of all roots that still live again: modules grow, and parameters get replaced."""
        for root in list(self.roots.values()):
            module = root.ref()
            if module is not None:
                self.scan(module)
        self.stale = False

    def _name(self, tensor: Tensor, root: int, name: str) -> None:
        number = self.recording.id_of(tensor)
        self.recording.named.add(number)
        roots = self.names.setdefault(number, {})
        roots.pop(self.roots[root].predecessor, None)
        names = roots.setdefault(root, [])
        if name not in names:
            names.append(name)


def _wrapper_prefix(root: nn.Module) -> str:
    """``module.``: what data parallelism puts before the names that a checkpoint and the other ranks know."""
    return "module." if isinstance(root, (nn.DataParallel, nn.parallel.DistributedDataParallel)) else ""


def _outermost(module: nn.Module, stop: FrameType | None) -> nn.Module:
    """The largest module of the user's frames that contains this one."""
    best, size = module, sum(1 for _ in module.modules())
    for candidate in {id(held): held for _, held in held_modules(stop)}.values():
        if candidate is not best:
            inside = list(candidate.modules())
            if len(inside) > size and any(child is module for child in inside):
                best, size = candidate, len(inside)
    return best


def _variable_of(module: nn.Module, stop: FrameType | None) -> str:
    """The outermost variable that holds a module, else a place in one, "" when none does (``self`` is no name)."""
    names = [name for name, held in held_modules(stop) if held is module and not name.startswith("_")]
    own = [name for name in names if name.isidentifier() and name != "self"]
    return (own or [name for name in names if name != "self"] or [""])[-1].removeprefix("self.")
