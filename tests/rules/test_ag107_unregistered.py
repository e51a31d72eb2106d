"""AG107: parameters that no module knows."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def fit(net, steps=2, **settings):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, **settings)
    for _ in range(steps):
        trained(optimizer, net(X).pow(2).mean())


class Blocks(nn.Module):
    def __init__(self, hold):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.blocks = hold([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(block(x))
        return x


def test_layers_in_a_python_list():
    """Layers in a plain list get gradients and no optimizer; in a ModuleList they learn."""

    def sick():
        fit(Blocks(list))

    finding = diagnosed(sick, "AG107", "nn.Linear(4, 4) for _", "Blocks", severity="warning", where=Blocks)
    assert "__init__" in finding.fix
    assert finding.message.startswith("block.weight (2 parameters), block.bias (2 parameters) "), finding.message
    calm(lambda: fit(Blocks(nn.ModuleList)))


class Named(nn.Module):
    """Layers in a list, each registered by a name as well."""

    def __init__(self, name):
        super().__init__()
        self.blocks = [nn.Linear(4, 4) for _ in range(2)]
        for number, block in enumerate(self.blocks):
            self.add_module(name.format(number), block)

    def forward(self, x):
        return self.blocks[1](self.blocks[0](x).tanh())


def test_layers_registered_under_one_name():
    """The last layer of that name is the only one that is registered: the line that registers them is told first."""
    finding = diagnosed(lambda: fit(Named("block")), "AG107", "self.add_module", severity="warning", where=Named)
    assert "the next module that was registered as `block` took the place of each" in finding.message
    calm(lambda: fit(Named("block{}")))


def test_a_layer_that_is_exchanged_on_purpose():
    """What nobody uses any more is missed by nobody, and one that comes back is registered."""

    def program(*, back):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        old = net[1]
        net[1] = nn.Linear(4, 3)
        if back:
            net[1] = old
        fit(net)

    calm(lambda: program(back=False), lambda: program(back=True))


class Branches(nn.Module):
    def __init__(self, hold):
        super().__init__()
        self.trunk = nn.Linear(4, 4)
        self.heads = hold({"cat": nn.Linear(4, 1), "dog": nn.Linear(4, 1)})

    def forward(self, x):
        x = self.trunk(x).tanh()
        return self.heads["cat"](x) + self.heads["dog"](x)


def test_heads_in_a_dict():
    """A dict of heads is not registered; a ModuleDict is."""
    diagnosed(lambda: fit(Branches(dict)), "AG107", '"cat": nn.Linear', "Branches", severity="warning", where=Branches)
    calm(lambda: fit(Branches(nn.ModuleDict)))


class Scaled(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = make(torch.ones(4))

    def forward(self, x):
        return self.linear(x) * self.scale


def test_bare_tensor_as_attribute():
    """A tensor that requires grad is no parameter until nn.Parameter makes it one; a constant needs none."""

    def bare(tensor):
        return tensor.requires_grad_()

    diagnosed(
        lambda: fit(Scaled(bare)), "AG107", "return tensor.requires_grad_()", "scale", severity="warning", where=bare
    )
    calm(lambda: fit(Scaled(nn.Parameter)), lambda: fit(Scaled(torch.Tensor.clone)))


def test_bare_tensor_wrapped_and_moved():
    """`nn.Parameter(...).to(dtype)` is the result of an expression, not a parameter."""

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4).double()
            self.gate = nn.Parameter(torch.ones(4)).to(torch.float64)

        def forward(self, x):
            return self.linear(x.double()) * self.gate

    diagnosed(
        lambda: fit(Gate(), 1), "AG107", "self.gate = nn.Parameter", "gate", severity="warning", where=Gate.__init__
    )


class LateProjection(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        project = nn.Linear(4, 2)
        return project(self.linear(x))


def test_layer_made_in_forward():
    """A layer made anew in each forward has random weights in each step."""
    diagnosed(
        lambda: fit(LateProjection()), "AG107", "project = nn.Linear(4, 2)", "LateProjection",
        severity="warning", where=LateProjection.forward,
    )  # fmt: skip


def test_parameter_made_in_forward():
    """An nn.Parameter made in forward is new in each step; one made in __init__ learns."""

    class Temperature(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            temperature = nn.Parameter(torch.ones(1))
            return self.linear(x) / temperature

    diagnosed(
        lambda: fit(Temperature()), "AG107", "temperature = nn.Parameter", "temperature",
        severity="warning", where=Temperature.forward,
    )  # fmt: skip


def test_nothing_but_a_list():
    """A module with all its layers in a list has no parameters at all: the optimizer refuses it."""

    class OnlyList(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    diagnosed(lambda: fit(OnlyList()), "AG107", "self.layers = [", "weight", severity="error", where=OnlyList)


def test_what_is_no_parameter():
    """Inputs that require grad, prompts optimized on their own and weights made by a hypernetwork are no mistake."""

    def adversarial():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            noise = torch.zeros_like(X, requires_grad=True)
            net(X + noise).pow(2).mean().backward()
            trained(optimizer, net(X + noise.grad.sign()).pow(2).mean())

    def prompt():
        net = nn.Linear(4, 2).requires_grad_(False)
        prompt = torch.zeros(1, 4, requires_grad=True)
        optimizer = torch.optim.Adam([prompt], lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X + prompt).pow(2).mean())

    def hypernetwork():
        hyper, optimizer = nn.Linear(3, 8), None
        optimizer = torch.optim.Adam(hyper.parameters())
        for _ in range(2):
            weight = hyper(torch.ones(3)).view(2, 4)
            trained(optimizer, nn.functional.linear(X, weight).pow(2).mean())

    def penalty():
        critic = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(critic.parameters())
        for _ in range(2):
            mixed = torch.rand(8, 4).requires_grad_()
            (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
            trained(optimizer, critic(X).mean() + (slope.norm(dim=1) - 1).pow(2).mean())

    def collocation():
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        time = torch.linspace(0, 1, 8)[:, None].requires_grad_()
        for _ in range(3):
            position = net(time + 0)
            (speed,) = torch.autograd.grad(position.sum(), time, create_graph=True)
            trained(optimizer, (speed + position).pow(2).mean())

    def needless():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        inputs = torch.ones(3, 4, requires_grad=True)
        for _ in range(3):
            trained(optimizer, net(inputs).pow(2).mean())

    calm(adversarial, prompt, hypernetwork, penalty, collocation, needless)


class Weighted(nn.Module):
    def __init__(self, hold):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scales = hold(torch.ones((), requires_grad=True) for _ in range(2))

    def forward(self, x):
        first, second = self.scales
        return self.linear(x) * first + second


def test_gradients_that_are_only_printed():
    """A log of the gradients of tensors in a list makes them no inputs: they are meant to learn."""

    def logged(net, number):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
            for scale in net.scales:
                number(scale)

    def printed(scale):
        return scale.grad.abs().item()

    diagnosed(
        lambda: logged(Weighted(list), printed),
        "AG107",
        "torch.ones((), requires_grad=True)",
        "Weighted",
        severity="warning",
        where=Weighted,
    )


def test_gradients_that_are_computed_with():
    """What is looked for is the gradient itself, kept as a tensor or used for a number that comes back."""
    kept = []

    def probed(use):
        net = Weighted(list)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
            for scale in net.scales:
                use(scale)

    def moved(scale):
        with torch.no_grad():
            scale.sub_(0.1 * scale.grad)
        scale.grad = None

    def stacked(scale):
        kept.append(scale.grad.clone())
        torch.stack(kept).mean()

    calm(lambda: probed(moved), lambda: probed(stacked))
