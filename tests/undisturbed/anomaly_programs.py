"""Programs for anomaly mode: each ends in a backward that torch finds at fault, and quotes the forward of."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint


class Spoils(torch.autograd.Function):
    """Its gradient is NaN."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("nan")


class Fails(torch.autograd.Function):
    """Its backward raises."""

    @staticmethod
    def forward(ctx, x):
        return F.relu(x).clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("no gradient from here")


class Net(nn.Module):
    """Modules in modules, torch functions that are written in Python, and a root of zero."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.rest = nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3), nn.ReLU(), nn.Dropout(0.0))

    def forward(self, x):
        return F.mse_loss(torch.sqrt(self.rest(self.first(x)) * 0), torch.zeros(2, 3))


class Own(TorchFunctionMode):
    """A mode of the program's."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Tagged(torch.Tensor):
    """A tensor subclass that overrides nothing."""


def root_of_zero(x):
    return (torch.sqrt(x) * 0).sum()


def plainly():
    root_of_zero(torch.zeros(3, requires_grad=True)).backward()


def recursive(depth=9):
    if depth:
        return recursive(depth - 1)
    return plainly()


def operators():
    x = torch.zeros(3, requires_grad=True)
    norm = 1 / x.norm(dim=0)
    (norm - norm).backward()


def modules():
    Net()(torch.ones(2, 3)).backward()


def module_with_hooks():
    net = Net()
    net.first.register_forward_hook(lambda module, args, result: result * 1)
    net.rest.register_full_backward_hook(lambda *_: None)
    net(torch.ones(2, 3)).backward()


def custom_function():
    Spoils.apply(torch.ones(3, requires_grad=True)).sum().backward()


def failing_function():
    Fails.apply(torch.ones(3, requires_grad=True)).sum().backward()


def modified_in_place():
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    F.softmax(y, 0).sum().backward()


def recomputed():
    checkpoint(Net(), torch.ones(2, 3, requires_grad=True), use_reentrant=False).backward()


def recomputed_in_a_run_of_its_own():
    checkpoint(Net(), torch.ones(2, 3, requires_grad=True), use_reentrant=True).backward()


def gradient_of_a_gradient():
    """The faulty node is one that the first run of the engine made."""
    x = torch.zeros(3, requires_grad=True)
    (gradient,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
    (gradient * 0).sum().backward()


def backward_of_a_backward():
    x = torch.zeros(3, requires_grad=True)
    (x**1.5).sum().backward(create_graph=True)
    (x.grad * 0).sum().backward()


def spoiled_by_a_hook():
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: gradient * float("nan"))
    y.sum().backward()


def closure_of_an_optimizer():
    x = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([x], lr=0.1)

    def closure():
        loss = root_of_zero(x)
        loss.backward()
        return loss

    optimizer.step(closure)


def recurrent():
    states, _ = nn.LSTM(3, 3)(torch.ones(2, 1, 3))
    torch.sqrt(states * 0).sum().backward()


def transformer():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    root_of_zero(layer(torch.ones(1, 3, 4)) * 0).backward()


def under_a_mode():
    with Own():
        modules()


def in_a_subclass():
    x = torch.zeros(3).as_subclass(Tagged).requires_grad_()
    root_of_zero(F.relu(x) * 0).backward()


def transformed():
    torch.func.grad(root_of_zero)(torch.zeros(3))
    x = torch.zeros(2, 3, requires_grad=True)
    torch.func.vmap(root_of_zero)(x).sum().backward()


PROGRAMS = [
    plainly,
    recursive,
    operators,
    modules,
    module_with_hooks,
    custom_function,
    failing_function,
    modified_in_place,
    recomputed,
    recomputed_in_a_run_of_its_own,
    gradient_of_a_gradient,
    backward_of_a_backward,
    spoiled_by_a_hook,
    closure_of_an_optimizer,
    recurrent,
    transformer,
    under_a_mode,
    in_a_subclass,
    transformed,
]
