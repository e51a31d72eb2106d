"""Run in a process of its own: takes a private name of torch's away, and then imports and uses the inspector.

Reads ``[path, prefix]`` lines in JSON from stdin and writes one line of what happened for each. Each runs in a fork,
which has torch but none of the inspector's files that meet torch: they find the torch without the name.
"""

import contextlib
import copy
import ctypes
import gc
import hashlib
import importlib
import io
import json
import os
import sys
import tempfile
import traceback
import warnings
from types import FunctionType, ModuleType

import torch
import torch.distributed.tensor
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
_WITHOUT_TORCH = frozenset({"advice", "analysis", "edits", "model", "rules", "source", "views"})
_TEMPLATES = "autograd_inspector.capture.undisturbed.instrumented"
"""The one file of the capture that looks no name of torch's up: it compiles functions anew, which takes longest."""
GONE = object()


# --- what is run -----------------------------------------------------------------------------------------------------


class Cube(torch.autograd.Function):
    """Saves one tensor as torch wants it and one as an attribute."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.square = x * x
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        return 3 * ctx.square * gradient


class Own(TorchFunctionMode):
    """A mode of the program's."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Net(nn.Module):
    """Saved tensors of every kind: of ops, of a custom Function, packed by a checkpoint, of a batch norm."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.drop = nn.Dropout(0.2)
        self.last = nn.Linear(6, 2)

    def forward(self, x):
        x = self.norm(checkpoint(self.first, x, use_reentrant=False))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.drop(torch.relu(x))
        return Cube.apply(self.last(x.float()))


def train():
    """Two steps with a bit of everything."""
    model = Net().to(torch.float64).float()
    model.last.weight.register_hook(lambda gradient: gradient * 2)
    model.drop.register_full_backward_hook(lambda *_: None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)
    average = copy.deepcopy(model)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        with Own():
            loss = model(torch.randn(5, 4)).pow(2).mean()
        loss = loss + 0 * torch.func.vmap(torch.sin)(model.last.bias).sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.5)
        losses.append(loss.detach().clone())
    torch.save(losses[0], io.BytesIO())
    return [*losses, *model.state_dict().values(), *(p.grad for p in model.parameters()), torch.get_rng_state()]


def spread():
    """Parts of a DTensor, and an optimizer of which each rank has a share; the reports of all ranks are gathered."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
    weight = nn.Parameter(torch.distributed.tensor.distribute_tensor(torch.ones(2, 2), mesh))
    model = nn.Linear(2, 2)
    shared = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    model(torch.ones(2)).sum().backward()
    shared.step()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * 2).sum().backward()
    optimizer.step()
    return [weight.full_tensor(), *model.parameters()]


def compiled():
    """A step through code that dynamo made, run without a compiler."""
    model = nn.Linear(3, 2)
    torch.compile(model, backend="eager")(torch.ones(4, 3)).sum().backward()
    return [p.grad for p in model.parameters()]


def edited():
    """A saved tensor is modified."""
    weight = nn.Parameter(torch.ones(3))
    made = weight.exp()
    made.add_(1)
    made.sum().backward()
    return []


def detached():
    """One parameter gets no gradient."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1](model[0](torch.ones(2, 3)).detach()).sum().backward()
    optimizer.step()
    return []


PROGRAMS = {"torch._dynamo": compiled, "torch.distributed": spread}


# --- taking a name away ----------------------------------------------------------------------------------------------


def split(path):
    """The owner and the last part of a name; (None, name) where there is no owner."""
    module, _, names = path.partition(":")
    owner = sys.modules.get(module)
    *outer, last = names.split(".")
    for name in outer:
        owner = getattr(owner, name, None)
    return owner, last


def holders(owner, last):
    """(dictionary, name) of everything that has it: of a class of nodes all of them, by the beginning of the name."""
    if isinstance(owner, ModuleType):
        return [(vars(owner), last)]
    if not isinstance(owner, type) or last in vars(owner).get("__annotations__", {}):
        return []  # What only its objects have is not what a class above it has under the same name.
    nodes = owner in vars(torch._C._functions).values()
    classes = (
        [kind for kind in vars(torch._C._functions).values() if isinstance(kind, type)] if nodes else owner.__mro__
    )
    start = last.removesuffix("result") if nodes and last.endswith("_saved_result") else ""
    holding = []
    for kind in classes:
        members = gc.get_referents(kind.__dict__)[0]
        holding += [(members, name) for name in members if (name.startswith(start) if start else name == last)]
    return holding


def delete(path):
    """Take the name away; returns what gives it back, None where nothing has it as an attribute of its own."""
    owner, last = split(path)
    gone = [(members, name, members.pop(name)) for members, name in holders(owner, last) if name in members]
    forget()

    def back():
        for members, name, value in gone:
            members[name] = value
        forget()

    return back if gone else None


def forget():
    """What the interpreter remembers of the attributes of classes."""
    for kind in [torch.Tensor, *torch.Tensor.__mro__, torch.UntypedStorage, *torch.UntypedStorage.__mro__]:
        if kind is not object:
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    for kind in vars(torch._C._functions).values():
        if isinstance(kind, type):
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    for kind in (nn.Module, torch._C._FunctionBase, torch._C._autograd.SavedTensor, torch.optim.Optimizer):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    sys._clear_type_cache()


def hide(path):
    """Torch needs it for itself: only the inspector is told that it is missing."""
    from autograd_inspector.capture.torch_private import resolving

    find, read, read_own, last = resolving.find, resolving.read, resolving.read_own, split(path)[1]
    resolving.find = lambda sought: resolving.MISSING if sought == path else find(sought)
    resolving.read = lambda owner, name: resolving.MISSING if name == last and of_object(owner) else read(owner, name)
    resolving.read_own = lambda owner, name: resolving.MISSING if name == last else read_own(owner, name)


def of_object(owner):
    """Modules and classes are looked up by the whole path."""
    return not isinstance(owner, (ModuleType, type))


# --- what happens then -----------------------------------------------------------------------------------------------


def bits(program):
    """What a program computes, from a fixed seed."""
    torch.manual_seed(7)
    whole = hashlib.sha256()
    for tensor in program():
        whole.update(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return whole.hexdigest()


def forked(call):
    """What a call returns in a fork; the text of what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            text = json.dumps(call())
        except BaseException:
            text = json.dumps({"raised": traceback.format_exc()})
        with os.fdopen(writer, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as out:
        text = out.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"raised": "the process died"}


def report(program, **options):
    """What the program computed or raised under the inspector, and what is told of it."""
    importlib.import_module("autograd_inspector.arrival").wait_for_dynamo()
    import autograd_inspector

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            with autograd_inspector.inspect(**options) as inspection:
                done = bits(program)
        except RuntimeError as error:
            done = type(error).__name__
        inspected_report = inspection.report
        summed_up = summary(inspected_report)
        if torch.distributed.is_initialized():
            summed_up["whole"] = [
                summed_up["whole"],
                without_times(json.loads(inspected_report.gather(timeout=10).to_json())),
            ]
    ours = [str(each.message) for each in shown if "autograd_inspector" in str(each.message)]
    return summed_up | {"done": done, "warnings": ours}


def summary(inspected_report):
    """What a report tells."""
    return {
        "findings": [finding.rule for finding in inspected_report.findings],
        "notes": list(inspected_report.capture.notes),
        "stopped": inspected_report.capture.stopped,
        "whole": without_times(json.loads(inspected_report.to_json())),
    }


def existing():
    """Reports on what is there already: a graph, an optimizer, a model, a checkpoint in a file."""
    import autograd_inspector

    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    loss = model(torch.randn(5, 4)).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/saved.pt")
        os.chdir(folder)
        return {
            "graph": summary(autograd_inspector.inspect_graph(loss, model=model)),
            "optimizer": summary(autograd_inspector.inspect_optimizer(optimizer, model)),
            "model": summary(autograd_inspector.inspect_model(model)),
            "checkpoint": summary(autograd_inspector.inspect_checkpoint("saved.pt", model, optimizer)),
        }


def without_times(value):
    """A report as it is whenever it was made, and whatever stood in memory that torch.empty() took."""
    if isinstance(value, dict):
        passing = {"seconds", "time", "value_faults", "bad_tensors"}
        return {key: without_times(each) for key, each in value.items() if key not in passing}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def main():
    """One line for each name."""
    before = list(sys.meta_path)
    importlib.import_module("autograd_inspector")
    sys.meta_path[:] = before  # Dynamo is imported here, and what waits for it looks names up.
    warm()
    met = {name for name in sys.modules if name.startswith("autograd_inspector.capture")}
    assert met <= {_TEMPLATES, *(_TEMPLATES.rsplit(".", number)[0] for number in (1, 2))}
    wanted = {program: forked(lambda program=program: bits(program)) for program in (train, *PROGRAMS.values())}
    for line in sys.stdin:
        path = json.loads(line)
        print(json.dumps({"path": path} | forked(lambda path=path: outcome(path, wanted))), flush=True)


def warm():
    """Import here, once for all forks, what each of them would: all but the inspector's files that meet torch."""
    names, compiled_anew = forked(used)
    for name in names:
        package, _, rest = name.partition(".")
        if package != "autograd_inspector" or rest.partition(".")[0] in _WITHOUT_TORCH:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    from autograd_inspector.model.capture import Capture
    from autograd_inspector.rules import findings_of
    from autograd_inspector.views.archive import storable

    findings_of(storable(Capture()))  # Which fields of records hold floats is worked out the first time.
    compile_anew(set(compiled_anew))
    gc.collect()
    gc.freeze()  # A fork that looked for garbage in all that is there would copy it.


def used():
    """The modules that the programs and reports of them need, and the code of functions that is compiled anew."""
    for program in (train, *PROGRAMS.values()):
        report(program)
    return list(sys.modules), list(importlib.import_module(_TEMPLATES)._TEMPLATES)


def compile_anew(numbers):
    """Compile functions whose code has these ids, which are the same in a fork: each fork then has the outcome."""
    instrumented = importlib.import_module(_TEMPLATES)
    for each in gc.get_objects():
        if type(each) is FunctionType and id(each.__code__) in numbers:
            instrumented.with_probe(each, None)


def outcome(path, whole):
    """What becomes of the programs without a name; with all names for a path that ends before one.

    ``whole``: what each program computes with all names and without the inspector.
    """
    program = next((candidate for start, candidate in PROGRAMS.items() if path.startswith(start)), train)
    module, _, name = path.partition(":")
    importlib.import_module(module)
    wanted = whole[program]
    how, back = "", delete(path) if name else None
    if back is not None and forked(lambda: bits(program)) == wanted:
        how = "deleted"
    elif name:
        how = "hidden"
        if back is not None:
            back()
        hide(path)
    reports = {"plain": report(program), "values": report(program, values=True)}
    if program is train:
        reports |= {"edited": report(edited), "detached": report(detached), **existing()}
    return {"how": how, "wanted": wanted, "reports": reports}


if __name__ == "__main__":
    main()
