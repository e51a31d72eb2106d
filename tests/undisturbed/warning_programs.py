"""Programs that warn, under all kinds of filters: run with ``plain`` or ``inspected``, it prints what came of each."""

import contextlib
import json
import sys
import threading
import warnings
from types import ModuleType

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import autograd_inspector


def ones(*shape):
    return torch.ones(*shape, requires_grad=True)


def from_cpp():
    y = ones(3) * 2
    for _ in range(2):
        y.grad
    y.grad


def from_cpp_in_a_function():
    torch.add(torch.ones(3), torch.ones(3), out=torch.ones(2))
    torch.arange(6.0).view(1, 2, 3).T


def from_python_functions():
    x = ones(3, 4)
    F.softmax(x)
    F.softmin(x)
    F.log_softmax(x)
    F.mse_loss(x, torch.ones(4))
    F.mse_loss(x, torch.ones(4))
    F.kl_div(x, x)
    F.l1_loss(x, x, reduce=True)
    F.dropout2d(ones(2, 3))
    torch.tensor(x.detach())
    torch.meshgrid(torch.arange(2), torch.arange(2))


def from_modules():
    x = ones(3, 4)
    nn.Softmax()(x)
    nn.Sequential(nn.Softmin(), nn.LogSoftmax())(x)
    nn.MSELoss()(x, torch.ones(4))
    nn.Sequential(nn.Dropout2d())(ones(2, 3))
    hooked = nn.Softmax()
    hooked.register_forward_hook(lambda *_: None)
    hooked(x)


def from_backward():
    x = ones(3)
    x.sum().backward(create_graph=True)
    x.grad = None
    y = ones(3) * 2
    y.register_hook(lambda gradient: warnings.warn("in a hook", stacklevel=2))
    y.sum().backward()


def from_checkpoints():
    def part(x):
        warnings.warn("computed", stacklevel=1)
        return F.mse_loss(x, torch.ones(4)) * 2

    checkpoint(part, ones(3, 4), use_reentrant=False).backward()
    checkpoint(part, ones(3, 4), use_reentrant=True).backward()
    checkpoint(part, torch.ones(3, 4), use_reentrant=True)
    checkpoint(part, ones(3, 4))


def from_optimizers():
    parameter = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter, parameter], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scheduler.step()
    scheduler.step(1)

    def closure():
        warnings.warn("in a closure", stacklevel=3)
        y = parameter * 2
        y.grad
        return y.sum()

    optimizer.step(closure)


def from_custom_functions():
    class Loud(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            for level in range(1, 6):
                warnings.warn(f"forward {level}", stacklevel=level)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            warnings.warn("backward", stacklevel=2)
            return gradient

    Loud.apply(ones(3)).sum().backward()


class Levels(nn.Module):
    def forward(self, x):
        for level in range(1, 9):
            warnings.warn(f"level {level}", stacklevel=level)
        return x


def from_every_level():
    nn.Sequential(nn.Sequential(Levels()))(torch.ones(2))
    Levels()._apply(lambda x: x)


def from_a_subclass():
    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            for level in range(1, 6):
                warnings.warn(f"subclass {level}", stacklevel=level)
            return super().__torch_function__(func, types, args, kwargs or {})

    F.mse_loss(torch.ones(3, 4).as_subclass(Mine), torch.ones(4))


def from_a_mode():
    class Mine(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            warnings.warn("mode", stacklevel=3)
            return func(*args, **(kwargs or {}))

    with Mine():
        F.mse_loss(torch.ones(3, 4), torch.ones(4))


def from_conversions():
    def convert(x):
        for level in range(1, 5):
            warnings.warn(f"convert {level}", stacklevel=level)
        return x

    nn.Sequential(nn.Linear(2, 2))._apply(convert)


def from_deprecated_classes():
    class Old(torch.autograd.Function):
        pass

    Old()

    @torch.no_grad()
    class Decorated:
        pass

    torch.jit.script(nn.Linear(1, 1))


def from_far_out():
    warnings.warn("far out", stacklevel=50)
    F.softmax(ones(3, 4), _stacklevel=60)


def raised_for_a_given_place():
    class Given(nn.Module):
        def forward(self, x):
            warnings.warn_explicit("given", UserWarning, "elsewhere.py", 7)
            warnings.warn_explicit("noted", UserWarning, "elsewhere.py", 8, module="elsewhere", registry=REGISTRY)
            compile("1 is 1", "compiled.py", "exec")
            return x

    for _ in range(2):
        Given()(torch.ones(2))


def in_another_thread():
    def run():
        y = ones(3) * 2
        y.grad
        F.mse_loss(ones(3, 4), torch.ones(4))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def recursive(x, left=3):
    F.mse_loss(x, torch.ones(4))
    return x if left == 0 else recursive(x, left - 1)


class Warns(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        for level in range(1, 6):
            warnings.warn(f"item {level}", stacklevel=level)
        return F.mse_loss(ones(3, 4), torch.ones(4)).detach()


def from_a_loader():
    list(torch.utils.data.DataLoader(Warns()))


def from_a_parameter():
    class Loud(torch.Tensor):
        def __new__(cls, *args):
            warnings.warn("made", stacklevel=2)
            return super().__new__(cls, *args)

        def detach(self):
            for level in range(1, 5):
                warnings.warn(f"detached {level}", stacklevel=level)
            return super().detach()

    nn.Parameter(Loud(2))


def from_recursion():
    recursive(ones(3, 4))


REGISTRY = {}
PROGRAMS = [candidate for name, candidate in list(globals().items()) if name.startswith(("from_", "raised_", "in_"))]


# --- filters: each is set inside the block, or before it ----------------------------------------------------


def defaults(program):
    program()


def simple(action):
    def filtered(program):
        warnings.simplefilter(action)
        program()

    filtered.__name__ = f"simple_{action}"
    return filtered


def by_module(action, module):
    def filtered(program):
        warnings.resetwarnings()
        warnings.filterwarnings(action, module=module)
        program()

    filtered.__name__ = f"{action}_for_{module}"
    return filtered


def module_before_simple(program):
    warnings.simplefilter("ignore")
    warnings.filterwarnings("always", module="__main__")
    warnings.filterwarnings("error", message="Using a target size", module="no such module")
    program()


def appended(program):
    warnings.resetwarnings()
    warnings.filterwarnings("once", module="__main__")
    warnings.simplefilter("ignore", append=True)
    program()


def of_one_line(program):
    warnings.simplefilter("ignore")
    first = program.__code__.co_firstlineno
    for line in range(first, first + 4):
        warnings.filterwarnings("always", module="__main__", lineno=line)
    program()


def reset_inside(program):
    warnings.simplefilter("error")
    warnings.resetwarnings()
    program()
    program()


def recorded(program):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        program()
    NOTED.extend(warning_record(w.message, w.category, w.filename, w.lineno) for w in seen)
    program()


def left_open(program):
    context = warnings.catch_warnings()
    context.__enter__()
    OPEN.append(context)
    warnings.simplefilter("always")
    program()


def nested(program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program()
        with warnings.catch_warnings():
            warnings.filterwarnings("always", module="torch")
            program()
    program()


def put_directly(program):
    warnings.filters.insert(0, ("always", None, Warning, None, 0))
    program()


FILTERS = [
    defaults,
    *map(simple, ("always", "default", "once", "module", "error", "ignore")),
    *(
        by_module(a, m)
        for a in ("error", "ignore", "module", "default")
        for m in ("__main__", "torch", "autograd_inspector")
    ),
    module_before_simple,
    appended,
    of_one_line,
    reset_inside,
    recorded,
    left_open,
    nested,
    put_directly,
]
NOTED, OPEN = [], []


def warning_record(message, category, filename, lineno):
    return [str(message)[:60], category.__name__, filename.rsplit("/", 2)[-2:], lineno]


def entry(warning_filter):
    action, message, category, module, lineno = warning_filter
    patterns = [getattr(each, "pattern", each) for each in (message, module)]
    return [action, patterns[0], category.__name__, patterns[1], lineno]


def taken_registries():
    """What was noted as shown since the last look, by module: there are thousands, to look through which takes time."""
    modules = [(name, vars(module)) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType)]
    noting = [(name, variables) for name, variables in modules if "__warningregistry__" in variables]
    noted_by = {name: dict(variables["__warningregistry__"]) for name, variables in noting} | {"given": dict(REGISTRY)}
    for _, variables in noting:
        variables.pop("__warningregistry__", None)
    REGISTRY.clear()
    keys_of_module = {}
    for name, noted in noted_by.items():
        keys = sorted([str(key[0])[:60], key[1].__name__, *key[2:]] for key in noted if key != "version")
        if keys:
            keys_of_module[name] = keys
    return keys_of_module


def outcome(program, filters, *, inspected, around):
    """What was shown and raised, and what the filters and registries were afterwards."""
    NOTED.clear()
    shown, lists = [], []
    context = autograd_inspector.inspect() if inspected else contextlib.nullcontext()
    with warnings.catch_warnings():
        warnings.showwarning = lambda m, c, f, n, *_: shown.append(warning_record(m, c, f, n))
        raised = ""
        try:
            if around:  # The filters are there before the block.

                def in_a_block():
                    with context:
                        program()

                in_a_block.__code__ = in_a_block.__code__.replace(co_firstlineno=program.__code__.co_firstlineno)
                filters(in_a_block)
            else:
                with context:
                    filters(program)
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"[:60]
        lists.append(list(map(entry, warnings.filters)))
        while OPEN:
            OPEN.pop().__exit__(None, None, None)
            lists.append(list(map(entry, warnings.filters)))
        noted = taken_registries()
    lists.append(list(map(entry, warnings.filters)))
    return {"shown": shown, "recorded": list(NOTED), "raised": raised, "filters": lists, "registries": noted}


def main(how):
    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in PROGRAMS:  # What imports what it uses has done so.
            program()
    taken_registries()
    outcomes = {}
    for program in PROGRAMS:
        for filters in FILTERS:
            for around in (False, True):
                key = f"{program.__name__} {filters.__name__} {'around' if around else 'inside'}"
                outcomes[key] = outcome(program, filters, inspected=how == "inspected", around=around)
    json.dump(outcomes, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
