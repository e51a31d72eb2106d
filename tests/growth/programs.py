"""Programs of any length: about so many ops, or so many functions in their file."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Program = Callable[[], object]


def chain(ops: int) -> Program:
    """One op after the other, and one backward."""
    x = torch.ones(4, requires_grad=True)

    def run() -> None:
        y = x
        for _ in range(ops):
            y = y + 1
        y.sum().backward()

    return run


def backwards(ops: int, every: int) -> Program:
    """A graph of so many ops and its backward, again and again."""
    x = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // every):
            y = x
            for _ in range(every - 2):
                y = y * 1.5
            y.sum().backward()

    return run


def accumulation(ops: int, *, steps: bool = True) -> Program:
    """Micro-batches of a few ops with a backward each; the optimizer steps after 32 of them, or once at the end."""
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.ones(2, 4)

    def run() -> None:
        for batch in range(ops // 4):
            (net(x).pow(2).mean() / 32).backward()
            if batch % 32 == 31 and steps:
                optimizer.step()
                optimizer.zero_grad()
        if not steps:
            optimizer.step()

    return run


def by_hand(ops: int) -> Program:
    """Training without an optimizer: updates under no_grad and through `.data`, gradients cleared by hand."""
    w, b = torch.ones(4, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
    x = torch.ones(8, 4) / 8

    def run() -> None:
        for _ in range(ops // 10):
            loss = (x @ w + b).pow(2).mean()
            loss.backward()
            with torch.no_grad():
                w.sub_(0.01 * w.grad)
            b.data -= 0.01 * b.grad
            w.grad = None
            b.grad.zero_()

    return run


def summed(ops: int) -> Program:
    """A loss to which each round adds a term, one factor of which is detached."""
    x = torch.ones(4, requires_grad=True)

    def run() -> None:
        loss = torch.zeros(())
        for _ in range(ops // 4):
            loss = loss + (x.detach() * x).sum()
        loss.backward()

    return run


def unrolled(ops: int) -> Program:
    """Inner loops of five steps that a meta-loss is differentiated through."""
    w = torch.full((4, 4), 0.1, requires_grad=True)
    x = torch.ones(8, 4) / 8
    optimizer = torch.optim.SGD([w], lr=0.01)

    def run() -> None:
        for _ in range(max(1, ops // 40)):
            fast: Tensor = w
            for _ in range(5):
                loss = (x @ fast).tanh().pow(2).mean()
                (gradient,) = torch.autograd.grad(loss, fast, create_graph=True)
                fast = fast - 0.01 * gradient
            optimizer.zero_grad()
            (x @ fast).pow(2).mean().backward()
            optimizer.step()

    return run


def unrolled_once(ops: int) -> Program:
    """One inner loop as long as the program: each step differentiates the graph that the steps before it left."""
    w = torch.full((4, 4), 0.1, requires_grad=True)
    x = torch.ones(8, 4) / 8
    optimizer = torch.optim.SGD([w], lr=0.01)

    def run() -> None:
        fast: Tensor = w
        for _ in range(max(1, ops // 8)):
            loss = (x @ fast).tanh().pow(2).mean()
            (gradient,) = torch.autograd.grad(loss, fast, create_graph=True)
            fast = fast - 0.01 * gradient
        (x @ fast).pow(2).mean().backward()
        optimizer.step()

    return run


def two_loops(ops: int) -> Program:
    """Two unrolled loops of a model with an optimizer each, in the manner of meta-learning."""
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.ones(8, 4), torch.zeros(8, 1)

    def run() -> None:
        for _ in range(2):
            optimizer.zero_grad()
            fast = dict(net.named_parameters())
            for _ in range(ops // 48):
                loss = (torch.func.functional_call(net, fast, x) - y).pow(2).mean()
                gradients = torch.autograd.grad(loss, tuple(fast.values()), create_graph=True)
                fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), gradients, strict=True)}
            (torch.func.functional_call(net, fast, x) - y).pow(2).mean().backward()
            optimizer.step()

    return run


def retained(ops: int) -> Program:
    """A recurrent loop with a backward in each step, which keeps the graph of all steps before."""
    cell = nn.Linear(4, 4)
    start = torch.ones(1, 4)

    def run() -> None:
        state = start
        for _ in range(ops // 3):
            state = cell(state).tanh()
            state.sum().backward(retain_graph=True)

    return run


def heads(ops: int) -> Program:
    """Losses over one trunk, each differentiated by itself."""
    trunk = nn.Linear(4, 4)
    x = torch.ones(1, 4)

    def run() -> None:
        features = trunk(x).tanh()
        for number in range(ops // 2):
            (features * number).sum().backward(retain_graph=True)

    return run


def layerwise(ops: int) -> Program:
    """Layers that are differentiated one by one, down to the layer before alone, and freed."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        y = torch.ones(4)
        for number in range(ops // 4):
            below, y = y, (y * w).tanh()
            if number:
                torch.autograd.grad(y.sum(), below)

    return run


def settled(ops: int) -> Program:
    """States that settle by the gradient of an energy, each from the one before; no derivative of a derivative."""
    w = torch.full((4, 4), 0.1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)

    def run() -> None:
        state = torch.ones(2, 4)
        for _ in range(ops // 8):
            state = state.detach().requires_grad_()
            energy = ((state @ w).tanh() * state).sum()
            (force,) = torch.autograd.grad(energy, state)
            state = state - 0.1 * force
        (state @ w).sum().backward()
        optimizer.step()

    return run


def cleared_by_hand(ops: int) -> Program:
    """A gradient that is read for an update of the program's own, and set to zero, round after round."""
    w, x = torch.ones(4, requires_grad=True), torch.ones(4)

    def run() -> None:
        for _ in range(ops // 6):
            (w * x).sum().backward()
            with torch.no_grad():
                w.sub_(0.01 * w.grad)
            w.grad.zero_()

    return run


def freed(ops: int) -> Program:
    """A graph that saves nothing and grows: each backward goes through all of it, and frees it in vain."""
    x = torch.ones(4, requires_grad=True)

    def run() -> None:
        y = x
        for _ in range(ops // 2):
            y = y + 1
            y.sum().backward()

    return run


def spoiled(ops: int) -> Program:
    """An unrolled loop that writes, out of autograd's sight, what its steps have saved."""
    w = torch.full((4,), 0.5, requires_grad=True)

    def run() -> None:
        fast: Tensor = w
        for _ in range(ops // 7):
            (gradient,) = torch.autograd.grad((fast * fast).sum(), fast, create_graph=True)
            fast.data.mul_(0.99)
            fast = fast - 0.01 * gradient
        fast.sum().backward()

    return run


def constant_terms(ops: int) -> Program:
    """A loss with a term that is computed under no_grad, again and again before the optimizer steps."""
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.ones(2, 4)

    def run() -> None:
        for _ in range(ops // 6):
            loss = net(x).mean()
            with torch.no_grad():
                penalty = net(x).pow(2).mean()
            (loss + 0.1 * penalty).backward()
        optimizer.step()

    return run


def leaking(ops: int) -> Program:
    """A total that keeps the graph of each round."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        total = torch.zeros(())
        for _ in range(ops // 4):
            loss = (w * 2).sum()
            loss.backward()
            total = total + loss

    return run


def modified(ops: int) -> Program:
    """Results that are modified in place although backward needs them: backward raises."""
    x = torch.ones(4, requires_grad=True)

    def run() -> None:
        y = x * 1
        for _ in range(ops // 3):
            y = y.exp()
            y.mul_(1.0)
            y = y * 0.5
        with suppress(RuntimeError):
            y.sum().backward()

    return run


def reading(ops: int) -> Program:
    """Gradients that are read, kept and measured in each round, and dropped."""
    weights = [torch.ones(4, requires_grad=True) for _ in range(3)]

    def run() -> None:
        for _ in range(ops // 12):
            torch.stack([(w * 2).sum() for w in weights]).sum().backward()
            gradients = [w.grad for w in weights]
            for gradient in gradients:
                gradient.norm().item()
            for w in weights:
                w.grad = None

    return run


def hooked(ops: int) -> Program:
    """A hook on a result of each round."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 4):
            y = w * 2
            y.register_hook(lambda gradient: gradient * 1)
            y.sum().backward()

    return run


def hooked_late(ops: int) -> Program:
    """A hook on a result of each round, whose backward() is done; the next round knows the result no more."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 4):
            y = w * 2
            y.sum().backward()
            y.register_hook(lambda gradient: gradient * 1)

    return run


def hooked_parts(ops: int) -> Program:
    """A hook in each round on a part of a parameter that the loss is not computed from."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 4):
            w[:2].register_hook(lambda gradient: gradient * 1)
            (w * 2).sum().backward()

    return run


class _Scaled(torch.autograd.Function):
    factor = None

    @staticmethod
    def forward(ctx, x):
        if _Scaled.factor is None:
            _Scaled.factor = 2 * torch.ones(4)
        return x * _Scaled.factor, x.mean()

    @staticmethod
    def backward(ctx, gradient, _):
        return gradient * _Scaled.factor


def kept_on_class(ops: int) -> Program:
    """A Function applied three times in each round, which keeps on its class what the first call has made."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 12):
            first = _Scaled.apply(w)
            second = _Scaled.apply(first[0])
            (_Scaled.apply(second[0])[0].sum() + second[1]).backward()

    return run


def optimizers(ops: int) -> Program:
    """Each layer with an optimizer of its own, which step in turn."""
    layers = [nn.Linear(4, 4) for _ in range(ops // 8)]
    each = [torch.optim.SGD(layer.parameters(), lr=0.01) for layer in layers]
    x = torch.ones(2, 4)

    def run() -> None:
        for _ in range(2):
            nn.Sequential(*layers)(x).mean().backward()
            for optimizer in each:
                optimizer.step()
                optimizer.zero_grad()

    return run


def checkpoints(ops: int) -> Program:
    """A chain of layers, each of them a checkpoint made at the same line."""
    w = torch.full((4,), 0.1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)

    def run() -> None:
        h = torch.ones(4, requires_grad=True)
        for _ in range(ops // 4):
            h = checkpoint(lambda t: (t * w).tanh(), h, use_reentrant=False)
        h.sum().backward()
        optimizer.step()

    return run


def checkpointed_batches(ops: int) -> Program:
    """Micro-batches with a checkpoint and a backward each; the optimizer steps at the end."""
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.ones(2, 4)

    def run() -> None:
        for _ in range(ops // 6):
            checkpoint(lambda t: net(t).tanh(), x, use_reentrant=False).sum().backward()
        optimizer.step()

    return run


def flat(ops: int) -> Program:
    """A recurrent loop whose loss sees the state of each round through ops that have no derivative."""
    w = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)

    def run() -> None:
        h, loss = torch.ones(4), torch.zeros(())
        for _ in range(ops // 9):
            h = (h * w).tanh()
            loss = loss + h.round().sum() + torch.bernoulli(h.sigmoid()).sum()
        loss.backward()
        optimizer.step()

    return run


def caught(ops: int) -> Program:
    """Second backwards through graphs that are gone, which raise and are caught."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 4):
            y = (w * w).exp().sum()
            y.backward()
            with suppress(RuntimeError):
                y.backward()

    return run


def caught_versions(ops: int) -> Program:
    """Backwards that raise, for what was saved is modified, and are caught."""
    w = torch.ones(4, requires_grad=True)

    def run() -> None:
        for _ in range(ops // 3):
            y = w.exp()
            y.mul_(2)
            with suppress(RuntimeError):
                y.sum().backward()

    return run


def aliased(ops: int) -> Program:
    """An unrolled loop after a tensor was written through NumPy, before anything saved it."""
    v, keep = torch.full((4,), 0.1, requires_grad=True), torch.ones(4, requires_grad=True)
    batch = torch.ones(4)

    def run() -> None:
        array = batch.numpy()
        array[:] = 2
        (keep * batch).sum()
        fast: Tensor = v
        for _ in range(ops // 6):
            (gradient,) = torch.autograd.grad((fast * fast).sum(), fast, create_graph=True)
            fast = fast - 0.01 * gradient
        fast.sum().backward()

    return run


def put_aside(ops: int) -> Program:
    """An unrolled loop between two uses of a graph of which a saved tensor is modified unseen."""
    w, v = torch.full((4,), 0.1, requires_grad=True), torch.full((4,), 0.1, requires_grad=True)
    scale = torch.ones(4)

    def run() -> None:
        aside = (w * scale).sum()
        torch.autograd.grad(aside, w, retain_graph=True)
        scale.data.mul_(2)
        fast: Tensor = v
        for _ in range(ops // 6):
            (gradient,) = torch.autograd.grad((fast * fast).sum(), fast, create_graph=True)
            fast = fast - 0.01 * gradient
        torch.autograd.grad(aside, w)

    return run


def unrolled_checkpoints(ops: int) -> Program:
    """An unrolled loop whose steps are checkpoints."""
    v = torch.full((4,), 0.1, requires_grad=True)

    def run() -> None:
        fast: Tensor = v
        for _ in range(ops // 8):
            loss = checkpoint(lambda t: t * t, fast, use_reentrant=False).sum()
            (gradient,) = torch.autograd.grad(loss, fast, create_graph=True)
            fast = fast - 0.01 * gradient
        fast.sum().backward()

    return run


class First(torch.autograd.Function):
    """It has no gradient for its second input."""

    @staticmethod
    def forward(ctx: object, a: Tensor, b: Tensor) -> Tensor:
        return a * 1 + b * 0

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


def gaps(ops: int) -> Program:
    """A recurrent loop through such a Function, with a backward in each step."""
    w, b = torch.full((4,), 0.1, requires_grad=True), torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.01)

    def run() -> None:
        h = torch.ones(4)
        for _ in range(ops // 6):
            h = First.apply(h * w, b)
            h.sum().backward(retain_graph=True)
        optimizer.step()

    return run


def same_named(ops: int, functions: int, *, trained: bool = False) -> Program:
    """A loop that keeps its results, in a file of many classes whose methods have the same names.

    Each class has two methods, in six lines. ``trained``: an optimizer steps in each round.
    """
    classes = "".join(
        f"\nclass Variant{number}(nn.Linear):\n"
        "    def forward(self, x):\n        return self.scale(x)\n"
        f"    def scale(self, x):\n        return super().forward(x) * {number + 1}\n"
        for number in range(functions // 2)
    )
    loop = (
        "\ndef run():\n    model = Variant0(4, 4)\n    kept = None\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        f"    for _ in range({ops // 6}):\n        x = model(torch.ones(3, 4))\n        y = model.scale(x)\n"
        f"        kept = kept, x\n        y.sum().backward()\n{'        optimizer.step()' if trained else ''}\n"
    )
    return _written(f"same_named_{ops}_{functions}_{trained}", f"{classes}{loop}")


def one_expression(ops: int, lines: int) -> Program:
    """A sum over so many lines, in which calls of modules and of a tensor take turns."""
    terms = ["torch.exp(w)", "w.sin()", "F.relu(w)"] * (ops // 6)
    rows = [" + ".join(terms[line::lines]) for line in range(lines)]
    loss = "\n        + ".join(rows)
    text = f"import torch.nn.functional as F\nw = torch.ones(2, requires_grad=True)\ndef run():\n    y = ({loss})\n"
    return _written(f"one_expression_{ops}_{lines}", text)


def _written(name: str, text: str) -> Program:
    """The function ``run`` of a file with that text."""
    text, filename = f"import torch\nfrom torch import nn\n{text}", f"{name}.py"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    names: dict[str, Program] = {"__name__": name}  # type: ignore[dict-item]
    exec(compile(text, filename, "exec"), names)
    return names["run"]


def lists(ops: int) -> Program:
    """Few calls that read and make many tensors each, then saved tensors that are modified with those, and back."""
    weights = [torch.ones(2, requires_grad=True) for _ in range(ops // 6)]

    def nested() -> list[Tensor]:
        many = [weight.detach() for weight in weights]
        for _ in range(7):
            many = list(torch._foreach_add(many, many))
        return many

    def run() -> None:
        saved = [weight.exp() for weight in weights]
        for tensor, one, other in zip(saved, nested(), nested(), strict=True):
            tensor.data.add_(one)
            tensor.data.sub_(other)
        torch.stack([tensor.sum() for tensor in saved]).sum().backward()

    return run


def script(ops: int) -> Program:
    """A line for each op, in a file that mentions an optimizer's state."""
    begin = (
        "import torch\nw = torch.ones(2, requires_grad=True)\noptimizer = torch.optim.SGD([w], lr=0.1)\n"
        "before = len(optimizer.state)\n"
    )
    middle = "".join(f"h{line} = torch.tanh(w * {line}.5)\n" for line in range(ops // 2))
    text = f"{begin}{middle}h0.sum().backward()\noptimizer.step()\n"
    filename = f"script_{ops}.py"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    code = compile(text, filename, "exec")
    return lambda: exec(code, {"__name__": "script"})


def written_through(ops: int) -> Program:
    """One weight that is written through an alias again and again, and starved by a cut."""
    w, head = (nn.Parameter(torch.ones(3)) for _ in range(2))
    optimizer = torch.optim.SGD([w, head], lr=0.01)

    def run() -> None:
        for _ in range(ops // 3):
            values = w.data
            values.add_(1)
            values.mul_(0.5)
        ((w * 2).detach() * head).sum().backward()
        optimizer.step()

    return run


def listed_layers(ops: int) -> Program:
    """Layers in a list, which no optimizer knows."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [nn.Linear(2, 2) for _ in range(ops // 8)]
            self.out = nn.Linear(2, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.hidden:
                x = layer(x)
            return self.out(x)

    def run() -> None:
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    return run
