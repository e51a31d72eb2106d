"""AG407: a tie of weights that is undone when one of the two modules is replaced."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 4)
        self.out = nn.Linear(4, 6, bias=False)
        self.out.weight = self.table.weight  # Tied.

    def forward(self, ids):
        return self.out(self.table(ids))


def learn(change):
    net = Language()
    change(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        ids = torch.arange(6)
        optimizer.zero_grad()
        F.cross_entropy(net(ids), ids).backward()
        optimizer.step()


def replaced(net):
    net.table = nn.Embedding(8, 4)  # Replaced.


def tied_again(net):
    net.table = nn.Embedding(6, 4)
    net.out.weight = net.table.weight


def new_head(net):
    net.out = nn.Linear(4, 6)


def test_the_table_is_replaced_and_the_output_keeps_the_old_one():
    """Both names, the line that replaces and the one that had tied."""
    found = diagnosed(
        lambda: learn(replaced),
        "AG407",
        "# Replaced.",
        "out.weight",
        "table.weight",
        severity="warning",
        where=replaced,
    )
    assert any("# Tied." in place.source for place in found.locations)


def test_a_tie_that_is_made_again_or_left_on_purpose():
    """Tied anew, a head of its own in the place of the follower, or nothing replaced at all."""
    calm(lambda: learn(tied_again), lambda: learn(new_head), lambda: learn(lambda net: None))


def test_a_frozen_table_of_its_own():
    """What does not learn does not learn apart."""

    def frozen(net):
        net.table = nn.Embedding.from_pretrained(torch.randn(6, 4))

    calm(lambda: learn(frozen))


def both_replaced(net):
    table, out = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False)
    with torch.no_grad():
        out.weight.copy_(table.weight)
    net.table = table
    net.out = out  # Last.


def both_replaced_and_tied(net):
    both_replaced(net)
    net.out.weight = net.table.weight


def both_new(net):
    net.table, net.out = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False)


def test_two_new_modules_with_the_same_values():
    """They were one Parameter, and one was copied from the other; two that have nothing in common may differ."""
    diagnosed(
        lambda: learn(both_replaced), "AG407", "# Last.", "out.weight", "table.weight", "one Parameter",
        severity="warning", where=both_replaced,
    )  # fmt: skip
    calm(lambda: learn(both_replaced_and_tied), lambda: learn(both_new))


def assigned(net):
    state = {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(state, assign=True)  # Loaded.


def assigned_and_tied(net):
    assigned(net)
    net.out.weight = net.table.weight


def test_a_load_that_takes_the_tensors_themselves_unties():
    """Each name gets a parameter of its own, where both had one."""
    diagnosed(
        lambda: learn(assigned),
        "AG407",
        "# Loaded.",
        "out.weight",
        "table.weight",
        "`net.out.weight = net.table.weight`",
        severity="warning",
        where=assigned,
    )


def test_a_load_that_keeps_the_tie():
    """Values that are copied, one tensor under both names, and a tie that is made again."""

    def copied(net):
        net.load_state_dict({name: value.clone() for name, value in net.state_dict().items()})

    def shared(net):
        net.load_state_dict(net.state_dict(), assign=True)

    calm(lambda: learn(copied), lambda: learn(assigned_and_tied))
    calm(lambda: learn(shared))


def set_apart(net):
    for name, value in net.state_dict().items():
        module, _, leaf = name.rpartition(".")
        setattr(net.get_submodule(module), leaf, nn.Parameter(value.clone()))  # Set.


def set_apart_and_tied(net):
    set_apart(net)
    net.out.weight = net.table.weight


def one_of_its_own(net):
    net.out.weight = nn.Parameter(net.table.weight.detach().clone())


def two_of_their_own(net):
    net.table.weight, net.out.weight = nn.Parameter(torch.randn(6, 4)), nn.Parameter(torch.randn(6, 4))


def pruned(net):
    """A new Parameter for both names, with some of the rows."""
    kept = nn.Parameter(net.table.weight.detach().clone())
    net.table.weight = net.out.weight = kept


def test_new_parameters_for_each_name_of_a_state():
    """Both names of one tied Parameter get a copy of the same values."""
    diagnosed(
        lambda: learn(set_apart), "AG407", "# Set.", "out.weight", "table.weight", "copy of the same values",
        severity="warning", where=set_apart,
    )  # fmt: skip
    calm(
        lambda: learn(set_apart_and_tied),
        lambda: learn(one_of_its_own),
        lambda: learn(two_of_their_own),
        lambda: learn(pruned),
    )
