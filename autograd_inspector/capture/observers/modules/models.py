"""The models that a capture meets: their modules, parameters and buffers, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor, nn

from autograd_inspector.capture.lines.attributes import entries_of, order_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.local_names import held_modules
from autograd_inspector.capture.module_tree import (
    every_path,
    first_paths,
    modules_of,
    parameters_of,
    tensors_at,
)
from autograd_inspector.capture.observers.modules.bare import BareTensors
from autograd_inspector.capture.observers.modules.contents import Contents
from autograd_inspector.capture.observers.modules.frames import outermost, variable_of
from autograd_inspector.capture.observers.modules.known import KnownModules, Place, Root
from autograd_inspector.capture.observers.modules.own_switches import OwnSwitches
from autograd_inspector.capture.observers.modules.plain import plain_attributes
from autograd_inspector.capture.observers.modules.plain_containers import PlainContainers
from autograd_inspector.capture.observers.modules.plain_tensors import PlainTensors
from autograd_inspector.capture.observers.modules.switches import Switches
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_parameters
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModelContained


class Models:
    """Names modules and their tensors; a model whose parts may have been exchanged is looked at again."""

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
        self._bare = BareTensors(recording)
        self._plain_tensors = PlainTensors(recording)
        self._containers = PlainContainers(recording)
        self._stale: set[int] = set()
        """The roots in which something may have been exchanged since the last look at them."""
        self.own_switches = OwnSwitches(recording)
        self._met_modules = KnownModules()
        self._switches = Switches(recording, guard, self._met_modules.place_of)
        self._hints: dict[int, str] = {}

    @property
    def innermost(self) -> nn.Module | None:
        """The module whose call began last of those that are open."""
        return None

    def called_as(self, module: nn.Module, name: str) -> None:
        """What the code that is about to call a module has for it, where no variable of a running frame holds it."""
        self._hints[id(module)] = name

    def name_of(self, tensor: int) -> str:
        """The name of a tensor in the first of its models, "" where none has it."""
        names = next(iter(self.names.get(tensor, {}).values()), [])
        return names[0] if names else ""

    def label_of(self, root: int) -> str:
        """The model of that number by its variable, else its class; of several alike the later ones have a number."""
        known = self.roots.get(root)
        if known is None:
            return ""
        label = known.variable or known.type
        alike = [n for n, other in self.roots.items() if (other.variable or other.type) == label]
        place = alike.index(root)
        return f"{label} #{place + 1}" if place else label

    def place_of(self, module: nn.Module) -> Place:
        """Where a module stands, looked up in the program's frames where it was never met."""
        place = self._met_modules.place_of(module)
        if place is None or place.gone:
            inner = self.innermost
            around = None if inner is None else self._met_modules.place_of(inner)
            root = None if around is None else around.root.ref()
            inside = root is not None and any(child is module for child in modules_of(root))
            if inner is not None and around is not None and not inside:  # In a list that was empty at the first look?
                self._containers.look(around.root.number, around.path, inner)
            scanned_root = self.scan(root if root is not None and inside else self._outermost(module))
            place = self._met_modules.place_of(module) or Place(scanned_root, "")
        return place

    def _name_exchanged(self, module: nn.Module) -> None:
        """Look at a model again that has a parameter of which no hook told: one put into ``module._parameters``.

        Only after a call that computed with a parameter which was met for the first time, and which nobody has named.
        """
        place, entry_of = self._met_modules.place_of(module), self.recording.registry.entry_of
        unnamed = self.recording.registry.new_parameters
        unnamed -= self.names.keys()
        for name, parameter in entries_of(own_parameters(module)) if place is not None and unnamed else ():
            entry = entry_of(parameter) if type(parameter) is nn.Parameter else None
            if place is not None and entry is not None and entry.tensor in unnamed:
                model = place.root.ref()
                if model is not None:
                    self.scan(model)
                self._name(entry.tensor, place.root, f"{place.path}.{name}".lstrip("."))

    def path_of(self, module: nn.Module) -> str | None:
        """The qualified name of a module that was met before, None for any other."""
        place = self._met_modules.place_of(module)
        return None if place is None else place.path

    def meet(self, model: nn.Module) -> None:
        """Read the names of a model's modules, parameters and buffers, unless it is a root already."""
        if self._met_modules.root_of(model) is None:
            self.scan(model)

    def scan(self, model: nn.Module) -> Root:
        """(Re)read the names of a root's modules, parameters and buffers."""
        root = self._met_modules.root_of(model) or self._meet(model)
        number = root.number
        self._stale.add(number)  # Until it is done: an interrupt may strike.
        places = list(every_path(model))
        modules = first_paths(places)
        for path, child in modules:
            former = self._met_modules.put(child, root, path)
            if former is not None:
                self._contained(former, root, path)
            self._bare.look(number, path, child)
            self._plain_tensors.look(number, path, child)
            self._containers.look(number, path, child)
        inside = [child for _, child in modules]
        self._switches.met(inside)
        registry, id_of = self.recording.registry, self.recording.id_of
        wrapper = _wrapper_prefix(model)
        parameters, buffers = tensors_at(places)
        numbers = [id_of(parameter) for _, parameter in parameters]
        current: dict[str, int] = {}
        for (full_name, _), tensor in zip(parameters, numbers, strict=True):
            name = full_name.removeprefix(wrapper)
            self._name(tensor, root, name)
            current[name] = tensor
        registry.parameters.update(numbers)
        for name, buffer in buffers:
            tensor = id_of(buffer)
            self._name(tensor, root, name.removeprefix(wrapper))
            registry.buffers.add(tensor)
        for name, tensor in plain_attributes(self.recording, inside):
            self.plain.setdefault(name, {})[tensor] = None
        # functional_call puts other tensors in their place, for one call: these are not what the model has.
        lent = any(not isinstance(parameter, nn.Parameter) for _, parameter in parameters)
        if not lent or number not in self.current:
            self.current[number] = current
        if not lent:
            self.contents.look(number, zip(parameters, numbers, strict=True))
        self._stale.discard(number)
        return root

    def _meet(self, model: nn.Module) -> Root:
        """A model becomes a root. A part of one that is gone is compared with what it was at the last look."""
        number, before = self._met, self._met_modules.place_of(model)
        root = Root(model, number)
        self.roots[number], self._met = root, number + 1
        taken = {other.variable for other in self.roots.values() if other.ref() is not None}
        root.variable = variable_of(model, self.recording.stacks.stop, taken) or self._hints.get(id(model), "")
        if before is not None and before.gone:
            whole = before.root.number
            root.predecessor = whole
            self.current.pop(whole, None)
            self.contents.inherit(whole, number, before.path)
        self._met_modules.add_root(model, root)
        return root

    def _contained(self, model: Root, into: Root, path: str) -> None:
        recording = self.recording
        at, site = len(recording.ops), recording.stacks.here(0)
        recording.events.append(ModelContained(at, site, model.number, into.number, path))

    def _outermost(self, module: nn.Module) -> nn.Module:
        # Models that were looked at, and in which nothing was exchanged since, do not contain what was never met.
        return outermost(module, self.recording.stacks.stop, self._unknown)

    def _unknown(self, entries: Iterable[Any]) -> Iterator[bool]:
        return self._met_modules.unknown(self._stale, entries)

    def touched(self, module: nn.Module, tensors: Iterable[int] = ()) -> set[int]:
        """Something may be exchanged in that module, or in what has one of those tensors: returns the roots concerned.

        They are looked at with the next call of a model.
        """
        roots = {*self._met_modules.roots_with(module), *(root for t in tensors for root in self.names.get(t, ()))}
        self._stale |= roots
        return roots

    def adopt(self, parameters: Iterable[Tensor]) -> None:
        """Name parameters that an optimizer was given: by the modules of the user's frames, else by their variables."""
        adopted = list(parameters)
        missing = {id(p) for p in adopted if self.recording.id_of(p) not in self.names}
        for _, candidate in held_modules(self.recording.stacks.stop, self._unknown) if missing else ():
            if any(id(p) in missing for p in parameters_of(candidate)):
                self.scan(self._outermost(candidate))
                missing -= {id(p) for p in parameters_of(candidate)}
        self.recording.name_variables([p for p in adopted if id(p) in missing])

    def look_around(self) -> None:
        """Meet the modules that the running functions hold in variables."""
        for _, candidate in held_modules(self.recording.stacks.stop, self._unknown):
            if self.path_of(candidate) is None:
                self.scan(self._outermost(candidate))

    def _meet_evaluated(self) -> None:
        """Meet the models that the program put into eval mode: an average may be called later, or elsewhere.

        Before that, what it is to follow tells nothing of what it has beside: its statistics.
        """
        for model in self._switches.waiting():
            if self.path_of(model) is None and any(True for _ in parameters_of(model)):
                self.scan(self._outermost(model))

    def alive(self) -> list[nn.Module]:
        """The roots that the program still holds."""
        models = [root.ref() for root in self.roots.values()]
        return [model for model in models if model is not None]

    def living(self) -> set[int]:
        """The numbers of the roots that the program still holds."""
        return {number for number, root in self.roots.items() if root.ref() is not None}

    def look_again(self) -> None:
        """Read the names of those roots again in which something may have been exchanged."""
        for number in sorted(self._stale):
            root = self.roots.get(number)
            module = None if root is None else root.ref()
            if module is not None:
                self.scan(module)
            self._stale.discard(number)

    def _name(self, tensor: int, root: Root, name: str) -> None:
        self.recording.named.add(tensor)
        roots = self.names.get(tensor)
        if roots is None:
            roots = self.names[tensor] = {}
        elif root.predecessor in roots:
            del roots[root.predecessor]
        names = roots.get(root.number)
        if names is None:
            roots[root.number] = [name]
        elif name not in names:
            names.append(name)

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
        roots_in_use = {call.root for call in calls} | {root for names in self.names.values() for root in names}
        gone = [n for n, root in self.roots.items() if root.ref() is None and n not in roots_in_use]
        for number in gone:
            del self.roots[number]
            self.current.pop(number, None)
        self._met_modules.fold(self.roots)
        self._stale &= self.roots.keys()
        self._switches.fold(self.roots)
        self.own_switches.fold()
        self.contents.fold(self.roots)
        self._bare.fold()
        self._plain_tensors.fold()
        self._containers.fold()

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


def _wrapper_prefix(root: nn.Module) -> str:
    """``module.``: what data parallelism puts before the names that a checkpoint and the other ranks know."""
    return "module." if not _WRAPPERS.isdisjoint(order_of(type(root))) else ""


_WRAPPERS = Kinds(nn.DataParallel, nn.parallel.DistributedDataParallel)
