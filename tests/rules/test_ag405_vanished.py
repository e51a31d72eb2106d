"""AG405: parameters that are stepped and that no model has any more, and leaves replaced by their own copy."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from .programs import alarms, diagnosed, inspected, line_of, quoted, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


class Adapted(nn.Module):
    """A frozen linear layer with a low-rank update that can be merged into it."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)

    def merged(self):
        self.base.weight.data += self.up.weight.data @ self.down.weight.data
        return self.base

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Wrapped(nn.Module):
    """What puts adapters into a model, and takes them out again."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        model[0] = Adapted(model[0])

    def merge(self):
        self.model[0] = self.model[0].merged()
        return self.model

    def forward(self, x):
        return self.model(x)


def network():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def learnable(net):
    return [p for p in net.parameters() if p.requires_grad]


def step(net, optimizer):
    trained(optimizer, F.cross_entropy(net(X), Y))


def test_adapters_merged_while_the_optimizer_holds_them():
    """Adapters merged into their layers and dropped leave the optimizer with nothing that it could train of them."""

    def program(*, anew):
        net = Wrapped(network())
        optimizer = torch.optim.AdamW(learnable(net), lr=1e-3)
        step(net, optimizer)
        net = net.merge()
        if anew:
            optimizer = torch.optim.AdamW(learnable(net), lr=1e-3)
        for _ in range(2):
            step(net, optimizer)

    found = diagnosed(
        lambda: program(anew=False), "AG405", "self.model[0] = self.model[0].merged()", "down.weight", "up.weight",
        "net = net.merge()", severity="warning", where=Wrapped.merge,
    )  # fmt: skip
    assert "no longer in any model" in found.message
    calm(lambda: program(anew=True))


def test_all_of_a_merged_model_thawed():
    """What is trained after a merge is called as it is called now, and a long list of it is not printed."""

    def program(*, anew):
        net = Wrapped(nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)], nn.Linear(4, 2)).requires_grad_(False))
        optimizer = torch.optim.AdamW(learnable(net), lr=1e-3)
        step(net, optimizer)
        net = net.merge()
        net.requires_grad_(True)
        if anew:
            optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
        for _ in range(2):
            step(net, optimizer)

    found = diagnosed(
        lambda: program(anew=False), "AG405", "self.model[0] = self.model[0].merged()", "net = net.merge()", "3.weight",
        severity="warning", where=Wrapped.merge,
    )  # fmt: skip
    lost = {"net.model.0.down.weight", "net.model.0.up.weight"}
    assert not any(name.startswith(("model.1", "net.model")) for name in {*found.subjects} - lost)
    assert "get_parameter" not in found.fix
    assert "AdamW(net.parameters(), lr=0.001" in found.fix
    calm(lambda: program(anew=True))


def test_a_layer_taken_out_on_purpose():
    """Taking a projection head off a model that goes on learning is no alarm."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, optimizer)
        net[2] = nn.Identity()
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    calm(program)


def test_many_left_out_parameters_in_one_expression():
    """More parameters than one would list are collected by an expression that can be pasted."""

    def program():
        net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])
        optimizer = torch.optim.SGD([net[0].weight], lr=0.1)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
        return net, optimizer

    (found,) = alarms(inspected(program))
    assert found.rule == "AG404"
    net, optimizer = program()
    exec(quoted(found.fix)[0], {"net": net, "optimizer": optimizer})
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 7]


class Table:
    """A bare table of embeddings with its optimizer."""

    def __init__(self):
        self.rows = torch.randn(6, 4, requires_grad=True)
        self.optimizer = torch.optim.SGD([self.rows], lr=0.1)

    def widen(self):
        self.rows = self.rows.double().detach().requires_grad_()

    def widen_in_place(self):
        self.rows.data = self.rows.data.double()

    def fit(self):
        for _ in range(3):
            trained(self.optimizer, self.rows[torch.tensor([0, 2])].pow(2).mean())


def test_a_leaf_replaced_by_its_own_converted_copy():
    """A converted copy under the name of the old leaf is a new leaf: the optimizer holds the old one."""

    def program(change):
        table = Table()
        change(table)
        table.fit()

    found = diagnosed(
        lambda: program(Table.widen), "AG405", ".double().detach()", "rows", severity="warning", where=Table.widen
    )
    assert [place.lineno for place in found.locations if place.role == "optimizer created here"] == [
        line_of(Table.__init__, "torch.optim.SGD")
    ]
    assert [text for text in found.consequences if text.startswith("AG305 ") and "never called" in text]
    calm(lambda: program(Table.widen_in_place))


def test_an_adversarial_copy_is_no_replacement():
    """A perturbed copy of what is learnt, with a gradient of its own, replaces nothing."""

    def program():
        prompt = torch.randn(4, requires_grad=True)
        optimizer = torch.optim.SGD([prompt], lr=0.1)
        for _ in range(3):
            attack = prompt.detach().clone().requires_grad_()
            (X @ attack).pow(2).mean().backward()
            trained(optimizer, (X @ (prompt + 0.1 * attack.grad.sign())).pow(2).mean())

    calm(program)


def test_parameters_lent_to_a_functional_call():
    """A functional call puts other tensors into the model for its duration; the model keeps its parameters."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        values = {name: p.detach() for name, p in net.named_parameters()}

        def loss(given, x, y):
            return F.cross_entropy(torch.func.functional_call(net, given, (x[None],)), y[None])

        each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(values, X, Y)
        for _ in range(2):
            optimizer.zero_grad()
            for name, p in net.named_parameters():
                p.grad = each[name].mean(0)
            optimizer.step()

    calm(program)


def normalised():
    return nn.Sequential(weight_norm(nn.Linear(4, 6)), nn.ReLU(), nn.Linear(6, 2))


def without_norm(net):
    remove_parametrizations(net[0], "weight")


def looked_at(net):
    with torch.no_grad():
        without_norm(net)
        return net(X)


def test_parameters_that_are_left_as_a_buffer():
    """Merged under no_grad, they leave a buffer that is never trained; merged at the end, or in grad mode, they may."""

    def program(look):
        net = normalised()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            step(net, optimizer)
            look(net)

    def once(net):
        if is_parametrized(net[0]):
            looked_at(net)

    found = diagnosed(
        lambda: program(once), "AG405", "remove_parametrizations", "0.weight", "original0", severity="warning",
        where=without_norm,
    )  # fmt: skip
    assert "0.weight, computed from them, is a buffer and never trained" in found.message

    def at_the_end():
        net = normalised()
        step(net, torch.optim.SGD(net.parameters(), lr=0.1))
        looked_at(net)

    def rebuilt():
        net = normalised()
        step(net, torch.optim.SGD(net.parameters(), lr=0.1))
        without_norm(net)
        step(net, torch.optim.SGD(net.parameters(), lr=0.1))

    calm(at_the_end, rebuilt)


def test_running_statistics_are_no_merged_layer():
    """Statistics of what a layer computed outlive the layer, and hold none of its values."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        step(net, optimizer)
        net[0] = nn.Identity()
        for _ in range(2):
            step(net, optimizer)

    calm(program)
