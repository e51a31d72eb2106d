"""AG405: parameters that were replaced after the optimizer was made."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of, quoted, trained
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


def test_weight_made_anew_of_its_own_values():
    """Clipping a weight into a new Parameter replaces it; it is no copy that other means update."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(torch.ones(2, 4)).sum())
            net[0].weight = nn.Parameter(net[0].weight.clamp(-1, 1))

    diagnosed(program, "AG405", "net[0].weight = nn.Parameter(", "0.weight", severity="warning")


def test_state_of_what_a_group_let_go():
    """Parameters put into a group in place of others leave the old ones' state behind."""

    def program(clear):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.Adam(net.parameters())
        trained(optimizer, net(torch.ones(2, 4)).sum())
        net[1] = nn.Linear(4, 1)
        optimizer.param_groups[0]["params"] = list(net.parameters())
        if clear:
            optimizer.state.clear()
        trained(optimizer, net(torch.ones(2, 4)).sum())
        return optimizer

    found = diagnosed(
        lambda: program(clear=False), "AG405", "torch.optim.Adam(net.parameters())", "1.weight", "state",
        severity="warning", where=program,
    )  # fmt: skip
    optimizer = program(clear=False)
    assert len(optimizer.state) == 6
    exec(quoted(found.fix)[0], {"optimizer": optimizer})
    assert len(optimizer.state) == 4
    calm(lambda: program(clear=True))


class Tagger(nn.Module):
    """A table of words with the output tied to it."""

    def __init__(self, words=5):
        super().__init__()
        self.words, self.out = nn.Embedding(words, 4), nn.Linear(4, words, bias=False)
        self.out.weight = self.words.weight

    def grow(self, words):
        wider = nn.Embedding(words, 4)
        self.words = wider
        self.out.weight = wider.weight

    def forward(self, index):
        return self.out(self.words(index).tanh())


def lines_of(found, role):
    return [place.lineno for place in found.locations if place.role == role]


def test_line_that_puts_a_replacement_into_the_model():
    """What was made in one line and put into the model in others shows them all."""

    def program(*, late):
        net = Tagger()
        if not late:
            net.grow(7)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        if late:
            net.grow(7)
        for _ in range(2):
            trained(optimizer, net(torch.tensor([0, 4])).pow(2).mean())

    found = diagnosed(
        lambda: program(late=True), "AG405", "wider = nn.Embedding", "words.weight",
        severity="warning", where=Tagger.grow,
    )  # fmt: skip
    assert lines_of(found, "created here") == [line_of(Tagger.grow, "wider = nn.Embedding")]
    put = [line_of(Tagger.grow, "self.words = wider"), line_of(Tagger.grow, "self.out.weight = wider")]
    assert lines_of(found, "added to the model here") == put
    calm(lambda: program(late=False))


def test_a_layer_made_before_the_optimizer_and_put_in_after_it():
    """A spare head that existed already replaces one that the optimizer holds: the line that swaps them is shown."""

    def program(*, late):
        net, spare = network(5), nn.Linear(8, 2)
        if not late:
            net[2] = spare
        optimizer = torch.optim.Adam(net.parameters())
        if late:
            net[2] = spare  # The optimizer has been made.
        steps(net, optimizer)

    found = diagnosed(
        lambda: program(late=True), "AG405", "# The optimizer has been made.", "2.weight", "2.bias",
        severity="warning", where=program,
    )  # fmt: skip
    assert lines_of(found, "created here") == [line_of(program, "spare = network(5)")]
    calm(lambda: program(late=False))


def test_a_layer_added_and_not_replaced():
    """A layer made before the optimizer and added after it is left out by the optimizer, and nothing is orphaned."""

    def program(*, late):
        net, extra = nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 2)
        if not late:
            net.append(extra)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        if late:
            net.append(extra)  # Too late.
        steps(net, optimizer)

    diagnosed(lambda: program(late=True), "AG404", "# Too late.", "1.weight", severity="warning", where=program)
    calm(lambda: program(late=False))


def test_wrapping_a_model_puts_nothing_into_it():
    """A model that becomes part of a wrapper keeps the parameters that its optimizer holds."""

    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        steps(net, optimizer)
        steps(Wrapper(net), optimizer)

    calm(program)


def test_parameters_that_changed_their_names():
    """Fewer are held than took their place: both are called by their names."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        nn.utils.parametrizations.weight_norm(net[0])
        steps(net, optimizer)

    finding = diagnosed(
        program, "AG405", "weight_norm(net[0])", "original0", severity="warning",
    )  # fmt: skip
    assert {"net.0.weight", "net.0.parametrizations.weight.original0"} <= set(finding.subjects)


def test_a_head_swapped_beside_layers_in_a_plain_list():
    """Layers that no module has registered took nobody's place: the finding names the head alone."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.extra = [nn.Linear(4, 4)]
            self.head = nn.Linear(4, 5)

        def forward(self, x):
            for layer in self.extra:
                x = torch.relu(layer(x))
            return self.head(x)

    def sick():
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net.head = nn.Linear(4, 2)
        steps(net, optimizer)

    finding = diagnosed(sick, "AG405", "net.head = ", "head.weight", severity="warning", besides=("AG107",))
    assert "layer" not in finding.message
    assert {name.rpartition(".")[0].rpartition(".")[2] for name in finding.subjects} == {"head"}


def test_parameter_put_into_the_dictionary_of_a_module():
    """No hook of torch's tells of `_parameters[name] = ...`: it is the module's all the same, and a replacement."""

    def program(*, anew):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        steps(net, optimizer)
        for layer in (net[0], net[2]):
            layer._parameters["weight"] = nn.Parameter(layer.weight.detach().clone())  # Put in.
        if anew:
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        steps(net, optimizer)

    diagnosed(
        lambda: program(anew=False),
        "AG405",
        "# Put in.",
        "net.0.weight",
        "net.2.weight",
        severity="warning",
        where=program,
    )
    calm(lambda: program(anew=True))


def test_a_parameter_of_the_optimizer_that_steps_first_is_rebound():
    """The last step is another optimizer's; the new Parameter is computed from the one that the first still holds."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        weights = nn.Parameter(torch.ones(2))
        balance = torch.optim.SGD([weights], lr=0.1)
        for _ in range(3):
            loss = net(torch.ones(3, 4)).mean()
            balance.zero_grad()
            (weights * loss.detach()).sum().backward()
            balance.step()
            weights = nn.Parameter(weights.detach() / weights.detach().sum())  # Here.
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    diagnosed(program, "AG405", "Here.", "weights", severity="warning")
