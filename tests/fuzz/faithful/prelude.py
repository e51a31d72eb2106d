"""What every program defines before its first statement: modes, hooks, subclasses, modules and functions of its own."""

IMPORTS = """\
import copy, pickle, threading, warnings
import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint
"""

DEFINITIONS = '''\
class Stop(BaseException):
    """What a program uses to end itself, as an alarm does."""

def can_be_left(mode):
    """For a device torch takes the topmost mode off in C++: where the program has none it would find the recorder."""
    return not isinstance(mode, torch.device) or bool(_get_current_function_mode_stack())

def name_of(func):
    return getattr(func, "__name__", str(func))

class FunctionLog(TorchFunctionMode):
    """Logs every torch call that reaches it."""
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(("function mode", name_of(func), len(args)))
        return func(*args, **(kwargs or {}))

class Doubling(TorchFunctionMode):
    """Changes what some calls return."""
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.sin else result

class DispatchLog(TorchDispatchMode):
    """Logs every kernel that reaches it."""
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        log.append(("dispatch mode", str(func)))
        return func(*args, **(kwargs or {}))

class Tagged(torch.Tensor):
    """A subclass that logs what is done to it."""
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(("subclass", name_of(func)))
        return super().__torch_function__(func, types, args, kwargs or {})

class Wrapped(torch.Tensor):
    """A wrapper subclass: its elements are another tensor's."""
    @staticmethod
    def __new__(cls, inner):
        needs = inner.requires_grad
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=needs)
    def __init__(self, inner):
        self.inner = inner
    __torch_function__ = torch._C._disabled_torch_function_impl
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append(("wrapper", str(func)))
        out = func(*tree_map(unwrapped, args), **tree_map(unwrapped, kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, out)

def unwrapped(value):
    return value.inner if isinstance(value, Wrapped) else value

class Shy(torch.Tensor):
    """A subclass whose shape cannot be read."""
    @property
    def shape(self):
        raise RuntimeError("no shape")

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        log.append(("Double.backward", tuple(grad.shape)))
        return grad * 2

class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        raise ValueError("backward refuses")

class Scaled(nn.Module):
    """A parametrization."""
    def forward(self, w):
        return w * 0.5 + 0.1

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.4)
        self.last = nn.Linear(3, 3)
    def forward(self, x):
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))

class Nested(nn.Module):
    """Calls itself."""
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def forward(self, x, depth=0):
        return self.inner(x) if depth == 0 else self(x, depth - 1) + x

class Proximal(torch.optim.SGD):
    """Its step takes the model."""
    @torch.no_grad()
    def step(self, model, scale=1.0):
        log.append(("step was given", type(model).__name__, scale))
        model.first.weight.mul_(scale)
        return super().step()

class Closure:
    """A closure with attributes."""
    calls = 0
    def __init__(self, owner, loss):
        self.owner, self.loss = owner, loss
    def __call__(self):
        self.calls += 1
        self.owner.zero_grad()
        value = self.loss()
        value.backward()
        return value

def shout(level, text="shouted"):
    warnings.warn(text, UserWarning, stacklevel=level)

def pack(x):
    log.append(("pack", tuple(x.shape)))
    return x.detach().clone() if len(log) % 2 else x

def unpack(x):
    log.append(("unpack", tuple(x.shape)))
    return x

def failing_pack(x):
    raise ValueError("pack refuses")

def failing_unpack(x):
    raise ValueError("unpack refuses")

def halve(grad):
    log.append(("tensor hook", tuple(grad.shape)))
    return grad * 0.5

def refuse(*args):
    raise ValueError("a hook refuses")

def stop(*args):
    raise Stop("stopped by a hook")

def warn_in_hook(grad):
    shout(1, "from a hook")

def seen(kind):
    def hook(*args, **kwargs):
        log.append((kind, len(args)))
    return hook

def once_at_a_time(hook):
    """A hook whose own calls would call it again, without end."""
    busy = []
    def called(*args):
        if not busy:
            busy.append(True)
            try:
                hook(*args)
            finally:
                busy.clear()
    return called

def in_thread(work):
    errors = []
    def body():
        try:
            work()
        except BaseException as error:
            errors.append(error)
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    for error in errors:
        log.append(("thread raised", type(error).__name__, str(error)))

def steps(count):
    """A generator with the grad mode of its own."""
    with torch.no_grad():
        for number in range(count):
            yield number

def mode_holder():
    with FunctionLog():
        yield 1

@torch.no_grad()
def silent(x):
    return x * 3

def deep(x, depth):
    return x.sin() if depth == 0 else deep(x, depth - 1)

class Interrupted:
    """Stops in the middle of an op: while its argument is read."""
    def __len__(self):
        raise Stop("stopped inside a call")
    def __getitem__(self, index):
        raise Stop("stopped inside a call")
'''

VALUES = (
    "w0 = torch.linspace(-0.9, 1.1, 9).reshape(3, 3).clone().requires_grad_()",
    "w1 = torch.linspace(0.8, -0.7, 9).reshape(3, 3).sin().requires_grad_()",
    "x0 = torch.linspace(-1.3, 1.2, 9).reshape(3, 3).cos()",
    "v0, v1, v2 = x0 * 1.0, x0 + 0.5, x0 - 0.5",
    "net = Net()",
    "nested = Nested()",
    "opt = torch.optim.SGD([w0, w1, *net.parameters()], lr=0.1, momentum=0.5)",
)
