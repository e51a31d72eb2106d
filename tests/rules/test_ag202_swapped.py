"""AG202: weights exchanged by an assignment to `.data` between forward and backward."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.checkpoint import checkpoint

from .programs import alarms, diagnosed, inspected, silent, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm, self.head = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 2)

    def forward(self, x):
        return self.head(self.norm(self.hidden(x)).tanh())


def stepped(between, *, recompute=False):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        out = checkpoint(net, X, use_reentrant=False) if recompute else net(X)
        between(net)
        trained(optimizer, out.pow(2).mean())


def evaluated(net):
    kept = [p.data for p in net.parameters()]
    for p in net.parameters():
        p.data = p.data * 0.5
    with torch.no_grad():
        net(X)
    for p, data in zip(net.parameters(), kept, strict=True):
        p.data = data


def exchanged(net):
    for p in net.parameters():
        p.data = p.data * 0.5


def test_weights_swapped_in_and_out_again():
    """Averaged or rounded weights that are evaluated and then put back are the ones that backward needs."""
    silent(lambda: stepped(evaluated))


def test_weights_swapped_under_a_checkpoint():
    """Recomputation reads the weights anew: those that were put back are right, others are not."""
    silent(lambda: stepped(evaluated, recompute=True))
    diagnosed(
        lambda: stepped(exchanged, recompute=True), "AG202", "p.data = p.data * 0.5", "hidden.weight",
        severity="error", where=exchanged,
    )  # fmt: skip


def test_view_of_a_weight_keeps_its_memory():
    """A linear layer saves its weight transposed, a view that an assignment to the weight's `.data` does not touch."""

    def transposed():
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = F.mse_loss(net(X), torch.ones(8, 2))
        exchanged(net)
        trained(optimizer, loss)

    def result():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = net(X).exp()
        loss = hidden.sum()
        hidden.data = torch.zeros(8, 2)
        trained(optimizer, loss)

    silent(transposed, result)


def test_weight_itself_exchanged():
    """A factor is saved as it is: backward reads whatever its `.data` is by then."""

    def program():
        scale, shift = nn.Parameter(torch.ones(4)), nn.Parameter(torch.randn(4))
        optimizer = torch.optim.SGD([scale, shift], lr=0.1)
        loss = (scale * shift).sum()
        scale.data = torch.zeros(4)
        trained(optimizer, loss)

    diagnosed(program, "AG202", "scale.data = torch.zeros(4)", "scale", severity="error")
    diagnosed(
        lambda: stepped(exchanged), "AG202", "p.data = p.data * 0.5", "norm.weight", severity="error", where=exchanged
    )


def lent(net, *, keep=torch.clone, after=lambda p, k: None, back=True):
    """Other values in the same memory, for an evaluation, and the old ones copied in again."""
    kept = [keep(p.data) for p in net.parameters()]
    for p in net.parameters():
        p.data.copy_(0.5 * p.detach())
    with torch.no_grad():
        net(X)
    for p, k in zip(net.parameters(), kept, strict=True):
        after(p, k)
        if back:
            p.data.copy_(k)


def test_values_copied_in_and_out_again():
    """Averaged weights that were copied in are gone again: bit by bit, backward reads what the forward read."""

    def together(net):
        data = [p.data for p in net.parameters()]
        kept = [d.detach().clone() for d in data]
        torch._foreach_copy_(data, [torch.zeros_like(d) for d in data])
        torch._foreach_copy_(data, kept)

    silent(lambda: stepped(lent), lambda: stepped(lent, recompute=True), lambda: stepped(together))


def test_values_that_only_look_as_if_they_were_put_back():
    """A copy that was taken too late, rounded, edited, or of which nothing was copied back, restores nothing."""
    sick = (
        lambda net: lent(net, back=False),
        lambda net: lent(net, keep=lambda data: data.half()),
        lambda net: lent(net, after=lambda p, k: k.mul_(0.9)),
        lambda net: lent(net, after=lambda p, k: k.copy_(p.detach())),
        lambda net: (exchange(net), lent(net)),
    )
    for between in sick:
        report = inspected(lambda between=between: stepped(between))
        unrestored = {"AG205"} if between is sick[0] else set()  # That nothing reads the copy is told as well.
        assert {finding.rule for finding in alarms(report)} == {"AG202"} | unrestored, summary(report)


def exchange(net):
    for p in net.parameters():
        p.data.copy_(torch.zeros_like(p))


def vector_of(net):
    return parameters_to_vector(net.parameters())


def there_and_back(net):
    vector_to_parameters(vector_of(net), net.parameters())


def moved_and_back(net):
    with torch.no_grad():
        point = vector_of(net)
        vector_to_parameters(point + 0.1, net.parameters())
        net(X)
        vector_to_parameters(point, net.parameters())


def copy_of_a_copy(net):
    point = vector_of(net).detach()
    kept = point.clone()
    point.add_(0.1)
    vector_to_parameters(point, net.parameters())
    net(X)
    vector_to_parameters(kept, net.parameters())


def clones_put_back(net):
    kept = [p.detach().clone() for p in net.parameters()]
    exchanged(net)
    for p, clone in zip(net.parameters(), kept, strict=True):
        p.data = clone


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("between", [there_and_back, moved_and_back, copy_of_a_copy, clones_put_back])
def test_copies_that_are_put_back(between, recompute):
    """Other memory, but the very numbers: copied whole, or as a part of one long vector of all of them."""
    silent(lambda: stepped(between, recompute=recompute))


def moved(net):
    vector_to_parameters(vector_of(net) + 0.1, net.parameters())


def modified_copy(net):
    point = vector_of(net).detach()
    vector_to_parameters(point, net.parameters())
    point.add_(0.1)


def late_copy(net):
    exchanged(net)
    vector_to_parameters(vector_of(net), net.parameters())


def in_another_order(net):
    halves = vector_of(net).detach().chunk(2)
    vector_to_parameters(torch.cat([halves[1], halves[0]]), net.parameters())


def turned_round(net):
    kept = vector_of(net).detach()
    vector_to_parameters(kept.flip(0), net.parameters())


def shifted(net):
    kept = torch.cat([torch.zeros(1), vector_of(net).detach()])
    vector_to_parameters(kept, net.parameters())


def permuted(net):
    net.norm.weight.data = net.norm.weight[[1, 0, 2, 3, 4, 5]].clone()


def permuted_by_a_tensor(net):
    net.norm.weight.data = net.norm.weight[torch.tensor([1, 0, 2, 3, 4, 5])].clone()


def permuted_in_a_matrix(net):
    kept = net.norm.weight[[1, 0, 2, 3, 4, 5]].reshape(2, 3).clone()
    net.norm.weight.data = kept.view(6)


OTHER_NUMBERS = [
    moved, modified_copy, late_copy, in_another_order, turned_round, shifted,
    permuted, permuted_by_a_tensor, permuted_in_a_matrix,
]  # fmt: skip


@pytest.mark.parametrize("between", OTHER_NUMBERS)
def test_other_numbers_that_are_put_in(between):
    """Moved, modified since, taken too late, or those of another place: the gradients are wrong."""
    found = alarms(inspected(lambda: stepped(between)))
    assert {(finding.rule, finding.severity) for finding in found} == {("AG202", "error")}
