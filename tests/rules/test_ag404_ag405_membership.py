"""AG404 and AG405: parameters and optimizers that do not know each other."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network(classes=2):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, classes))


def steps(net, optimizer, count=2):
    for _ in range(count):
        trained(optimizer, F.cross_entropy(net(X), Y))


def test_head_swapped_after_the_optimizer():
    """A new head after the optimizer was made is in no optimizer."""

    def sick():
        net = network(5)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net[2] = nn.Linear(8, 2)
        steps(net, optimizer)

    def healthy():
        net = network(5)
        net[2] = nn.Linear(8, 2)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    diagnosed(sick, "AG405", "net[2] = nn.Linear", "2.weight", severity="warning")
    calm(healthy)


def test_optimizer_of_the_original():
    """deepcopy after the optimizer: it goes on stepping the original."""

    def sick():
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        net = copy.deepcopy(net)
        steps(net, optimizer)

    def healthy():
        net = copy.deepcopy(network())
        steps(net, torch.optim.Adam(net.parameters()))

    diagnosed(sick, "AG405", "copy.deepcopy(net)", "0.weight", severity="warning")
    calm(healthy)


def test_parameters_assigned_by_a_load():
    """load_state_dict(assign=True) replaces the parameters that the optimizer holds."""

    def program(*, assign):
        net = network()
        optimizer = torch.optim.Adam(net.parameters())
        net.load_state_dict(network().state_dict(), assign=assign)
        steps(net, optimizer)

    diagnosed(
        lambda: program(assign=True),
        "AG405",
        "assign=assign",
        "0.weight",
        "assign=True",
        severity="warning",
        where=program,
    )
    calm(lambda: program(assign=False))


def test_parameter_made_again():
    """`self.weight = nn.Parameter(...)` in a reset method makes a new parameter."""

    class Prototype(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.centres = nn.Linear(4, 3), nn.Parameter(torch.randn(2, 3))

        def reset(self):
            self.centres = nn.Parameter(torch.randn(2, 3))

        def refill(self):
            with torch.no_grad():
                self.centres.normal_()

        def forward(self, x):
            return self.encoder(x) @ self.centres.t()

    def program(again):
        net = Prototype()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        again(net)
        steps(net, optimizer)

    diagnosed(
        lambda: program(Prototype.reset), "AG405", "self.centres = nn.Parameter", "centres",
        severity="warning", where=Prototype.reset,
    )  # fmt: skip
    calm(lambda: program(Prototype.refill))


def test_resized_embedding():
    """A vocabulary that grows after the optimizer was made gets a new weight."""

    def grow(table):
        wider = nn.Embedding(table.num_embeddings + 2, table.embedding_dim)
        wider.weight.data[: table.num_embeddings] = table.weight.data
        return wider

    def program(*, late):
        net = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 2))
        if not late:
            net[0] = grow(net[0])
        optimizer = torch.optim.AdamW(net.parameters())
        if late:
            net[0] = grow(net[0])
        for _ in range(2):
            trained(optimizer, net(torch.tensor([0, 4])).pow(2).mean())

    report = diagnosed(
        lambda: program(late=True), "AG405", "wider = nn.Embedding", "0.weight", severity="warning", where=grow
    )
    assert report.fix
    calm(lambda: program(late=False))


def test_tied_after_the_optimizer():
    """Tying weights after the optimizer was made leaves the old output weight in it."""

    def program(*, late):
        net = nn.ModuleDict({"embed": nn.Embedding(5, 4), "head": nn.Linear(4, 5, bias=False)})
        if not late:
            net["head"].weight = net["embed"].weight
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        if late:
            net["embed"].weight = nn.Parameter(torch.randn(5, 4) * 0.02)
            net["head"].weight = net["embed"].weight
        for _ in range(2):
            trained(optimizer, net["head"](net["embed"](torch.tensor([0, 4]))).pow(2).mean())

    diagnosed(
        lambda: program(late=True), "AG405", "nn.Parameter(torch.randn(5, 4) * 0.02)", "weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(late=False))


def test_part_of_the_model_left_out():
    """A head that gets gradients and was left out of the optimizer; frozen, it is left out on purpose."""

    def program(freeze):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        if freeze:
            head.requires_grad_(False)
        optimizer = torch.optim.SGD(body.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(head(body(X).relu()), Y))

    diagnosed(
        lambda: program(freeze=False), "AG404", "torch.optim.SGD(body.parameters()", "head.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(freeze=True))


def test_only_the_last_layer_filtered():
    """A name filter that misses biases or norms leaves them out."""

    def program(wanted):
        net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW([p for name, p in net.named_parameters() if wanted(name)])
        steps(net, optimizer)

    diagnosed(
        lambda: program(lambda name: "weight" in name), "AG404", "torch.optim.AdamW(", "0.bias",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(lambda name: True))


def test_gradual_unfreezing():
    """Layers unfrozen later and never added; added with add_param_group they learn."""

    def program(*, add):
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        steps(net, optimizer)
        net[0].requires_grad_(True)
        if add:
            optimizer.add_param_group({"params": net[0].parameters()})
        steps(net, optimizer)

    diagnosed(
        lambda: program(add=False),
        "AG404",
        "net[0].requires_grad_(True)",
        "0.weight",
        severity="warning",
        where=program,
    )
    calm(lambda: program(add=True))


def test_learnable_loss():
    """A loss with parameters of its own (a centre loss, a learned temperature) has to be in the optimizer."""

    class Uncertainty(nn.Module):
        def __init__(self):
            super().__init__()
            self.log_var = nn.Parameter(torch.zeros(()))

        def forward(self, loss):
            return loss * torch.exp(-self.log_var) + self.log_var

    def program(*, both):
        net, weigh = network(), Uncertainty()
        optimizer = torch.optim.SGD([*net.parameters(), *(weigh.parameters() if both else ())], lr=0.1)
        for _ in range(2):
            trained(optimizer, weigh(F.cross_entropy(net(X), Y)))

    diagnosed(lambda: program(both=False), "AG404", "torch.optim.SGD([", "log_var", severity="warning", where=program)
    calm(lambda: program(both=True))


def test_alternating_training():
    """Each of two optimizers holds half; gradients that pass through the other half are ordinary."""

    def gan():
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        left, right = torch.optim.Adam(generator.parameters()), torch.optim.Adam(critic.parameters())
        for _ in range(2):
            trained(right, critic(generator(X).detach()).mean() - critic(X).mean())
            trained(left, -critic(generator(X)).mean())

    def probe_then_finetune():
        net = network()
        head_only = torch.optim.SGD(net[2].parameters(), lr=0.1)
        net[0].requires_grad_(False)
        steps(net, head_only)
        net[0].requires_grad_(True)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    def optimizer_rebuilt():
        net = network(5)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))
        net[2] = nn.Linear(8, 2)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    def hand_made_step():
        net = network()
        for _ in range(2):
            net.zero_grad()
            F.cross_entropy(net(X), Y).backward()
            with torch.no_grad():
                for p in net.parameters():
                    p.sub_(0.1 * p.grad)

    def moved_first():
        net = network().to(torch.float64).to(torch.float32)
        steps(net, torch.optim.Adam(net.parameters()))

    def cross_validation():
        for _ in range(2):
            net = network()
            steps(net, torch.optim.Adam(net.parameters()), 1)

    calm(gan, probe_then_finetune, optimizer_rebuilt, hand_made_step, moved_first, cross_validation)


def test_conversion_that_swaps_parameters():
    """With overwrite_module_params_on_conversion a conversion makes new parameters."""

    def program(swap):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.__future__.set_overwrite_module_params_on_conversion(swap)
        try:
            net.to(torch.float64)
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(False)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X.double()), Y))

    diagnosed(lambda: program(True), "AG405", "net.to(torch.float64)", "0.weight", severity="warning", where=program)
    calm(lambda: program(False))
