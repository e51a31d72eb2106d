"""AG303: gradients that are exactly zero."""

from __future__ import annotations

from itertools import product

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def fit(net, loss=lambda out: F.mse_loss(out, Y), steps=3):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        trained(optimizer, loss(net(X)))


def test_dead_relu():
    """A ReLU whose input is negative for all data passes nothing back; an ordinary one does."""

    def sick():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        nn.init.constant_(net[0].bias, -100.0)
        fit(net)

    def healthy():
        fit(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))

    finding = diagnosed(sick, "AG303", "nn.init.constant_", "ReLU", "0.weight", severity="warning", values=True)
    assert finding.locations
    calm(healthy)


def test_hidden_units_that_die_one_by_one():
    """Some dead units among living ones are ordinary."""

    def program():
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        with torch.no_grad():
            net[0].bias[:4] = -50.0
        fit(net)

    calm(program)


class Quantized(nn.Module):
    def __init__(self, quantize):
        super().__init__()
        self.encoder, self.decoder, self.quantize = nn.Linear(4, 4), nn.Linear(4, 1), quantize

    def forward(self, x):
        return self.decoder(self.quantize(self.encoder(x)))


def test_quantizers():
    """round, sign, floor and heaviside have derivative zero; a straight-through estimator has not."""

    def rounded(z):
        return torch.round(z * 4) / 4

    def signed(z):
        return z.sign()

    def floored(z):
        return torch.floor(z)

    def straight_through(z):
        return z + (torch.round(z * 4) / 4 - z).detach()

    for quantize, text in ((rounded, "torch.round(z"), (signed, "z.sign()"), (floored, "torch.floor(z)")):
        diagnosed(
            lambda q=quantize: fit(Quantized(q)), "AG303", text, "encoder.weight",
            severity="warning", where=quantize, values=True,
        )  # fmt: skip
    calm(lambda: fit(Quantized(straight_through)))


def test_saturated_sigmoid():
    """A sigmoid of huge logits has a derivative that rounds to zero; the fused loss keeps it."""

    def program(loss):
        net = nn.Linear(4, 1)
        with torch.no_grad():
            net.bias.fill_(200.0)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss(net(X)))

    def squared(logits):
        return (torch.sigmoid(logits) - 0.5).pow(2).mean()

    def fused(logits):
        return F.binary_cross_entropy_with_logits(logits, torch.zeros(8, 1))

    diagnosed(
        lambda: program(squared), "AG303", "net.bias.fill_(200.0)", "sigmoid", "weight",
        severity="warning", where=program, values=True,
    )  # fmt: skip
    calm(lambda: program(fused))


def test_clamp_out_of_range():
    """A clamp whose input is outside its range for all data passes nothing back."""

    def sick():
        actor = nn.Linear(4, 1)
        nn.init.constant_(actor.bias, 50.0)
        fit(actor, lambda out: (out.clamp(-1, 1) - Y).pow(2).mean())

    def healthy():
        fit(nn.Linear(4, 1), lambda out: (out.clamp(-1, 1) - Y).pow(2).mean())

    diagnosed(sick, "AG303", "nn.init.constant_", "clamp", "weight", severity="warning", values=True)
    calm(healthy)


def test_saturated_tanh():
    """A tanh of huge input is said to be saturated, with the range of what goes in."""

    def program(scale):
        net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        net[2].requires_grad_(False)
        optimizer = torch.optim.SGD(net[0].parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(scale * X.sign()).mean())

    finding = diagnosed(
        lambda: program(1e5), "AG303", "net(scale * X.sign())", "Tanh", "0.weight", "saturated", "e+05 to",
        severity="warning", where=program, values=True,
    )  # fmt: skip
    assert "normalize" in finding.fix
    calm(lambda: program(1.0))


def test_one_class():
    """softmax and cross_entropy of a single output are constants; of two they are not, whatever else has size 1."""

    def softmaxed(net):
        return F.binary_cross_entropy(torch.softmax(net(X), dim=1)[:, :1], (Y > 0.5).float())

    def classified(net):
        return F.cross_entropy(net(X), torch.zeros(8, dtype=torch.long))

    def fitted(classes, loss):
        net = nn.Linear(4, classes)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss(net))

    def along(net):
        return torch.softmax(net(X), dim=0)[0].mean()

    def log_softmaxed(net):
        return net(X).log_softmax(-1).mean()

    culprits = ((softmaxed, "torch.softmax"), (classified, "F.cross_entropy"), (log_softmaxed, "log_softmax(-1)"))
    for (loss, text), values in product(culprits, (False, True)):
        finding = diagnosed(
            lambda loss=loss: fitted(1, loss), "AG303", text, "weight", "dimension of size 1",
            severity="warning", where=loss, values=values,
        )  # fmt: skip
        assert "sigmoid" in finding.fix
        calm(lambda loss=loss: fitted(2, loss))
    calm(lambda: fitted(1, along))


def routed(kept, normalise=True, auxiliary=False):
    """Experts whose outputs are weighted by the largest gates, which are to add up to 1."""
    router, expert = nn.Linear(4, 3), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*router.parameters(), *expert.parameters()], lr=0.1)
    for _ in range(2):
        scores = router(X).softmax(-1)
        gates = scores.topk(kept, dim=-1).values
        if normalise:
            gates = gates / gates.sum(dim=-1, keepdim=True)  # Normalised.
        loss = (expert(X) * gates - Y).square().mean()
        trained(optimizer, loss + 0.1 * scores.square().mean() if auxiliary else loss)


def test_a_single_weight_divided_by_its_own_sum():
    """The quotient is 1 whatever the weight is; of two it is not, and a router may learn by another loss."""
    for values in (False, True):
        diagnosed(
            lambda: routed(1), "AG303", "# Normalised.", "divides each element by itself", "weight",
            severity="warning", where=routed, values=values,
        )  # fmt: skip
    calm(lambda: routed(2), lambda: routed(1, normalise=False), lambda: routed(1, auxiliary=True))


def test_mask_that_selects_nothing():
    """Of a product with a mask of zeros the mask is named, and where it was made."""

    def program(kept):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            mask = (kept > Y).float()
            trained(optimizer, ((net(X) - Y).pow(2) * mask).sum() / mask.sum().clamp(min=1))

    finding = diagnosed(
        lambda: program(-1.0), "AG303", "* mask).sum()", "weight", "mask is zero throughout",
        severity="warning", where=program, values=True,
    )  # fmt: skip
    assert [place.role for place in finding.locations if "mask = " in place.source] == ["all zeros from here"]
    calm(lambda: program(0.5))


class LoRA(nn.Module):
    def __init__(self, init):
        super().__init__()
        self.base = nn.Linear(4, 1).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.empty(2, 4)), nn.Parameter(torch.zeros(1, 2))
        init(self.a)

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


def test_two_factors_that_are_both_zero():
    """LoRA with A = B = 0 never moves; with B = 0 alone it does."""
    diagnosed(
        lambda: fit(LoRA(nn.init.zeros_)), "AG303", "init(self.a)", "net.a and net.b are both zero",
        severity="warning", where=LoRA, values=True,
    )  # fmt: skip
    calm(lambda: fit(LoRA(nn.init.kaiming_uniform_)))


def test_all_weights_zero():
    """A deep network initialised with zeros learns its last bias only; a zero-initialised last layer is ordinary."""

    def zeroed(layer):
        if isinstance(layer, nn.Linear):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def sick():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
        net.apply(zeroed)
        fit(net)

    def healthy():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
        zeroed(net[-1])
        fit(net)

    diagnosed(sick, "AG303", "nn.init.zeros_(layer.weight)", "0.weight", severity="warning", where=zeroed, values=True)
    calm(healthy)


def test_loss_multiplied_by_zero():
    """A weight of zero on the whole loss; a warm-up weight of zero in the first step only is ordinary."""

    def sick():
        net, weight = nn.Linear(4, 1), 0
        fit(net, lambda out: weight * F.mse_loss(out, Y))

    def healthy():
        net = nn.Linear(4, 1)
        weights = iter([0.0, 0.5, 1.0])
        fit(net, lambda out: next(weights) * F.mse_loss(out, Y))

    diagnosed(sick, "AG303", "weight * F.mse_loss", "weight", severity="warning", values=True)
    calm(healthy)


def test_loss_that_is_satisfied():
    """A hinge or margin loss that is already zero has nothing to teach: that is success, not a fault."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for margin in (5.0, -50.0):
            trained(optimizer, F.relu(margin - net(X)).mean())

    calm(program)


def test_masked_positions():
    """Padding and masks make zeros in parts of a gradient; embeddings get zero rows."""

    def program():
        net = nn.Sequential(nn.Embedding(10, 4, padding_idx=0), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            out = net(torch.tensor([[1, 2, 0], [3, 0, 0]]))
            trained(optimizer, (out * torch.tensor([[1, 1, 0], [1, 0, 0]]).unsqueeze(-1)).pow(2).mean())

    calm(program)


def test_products_of_what_a_dead_relu_lets_through():
    """Densities that are all zero make all weights zero: the ReLU is told, what these multiply is not."""
    density, colour = nn.Linear(4, 1), nn.Linear(4, 3)
    nn.init.constant_(density.bias, -100.0)

    def program():
        optimizer = torch.optim.SGD([*density.parameters(), *colour.parameters()], lr=0.1)
        for _ in range(2):
            weight = 1 - torch.exp(-density(X).relu())
            trained(optimizer, F.mse_loss(weight * colour(X).sigmoid(), Y.expand(8, 3)))

    finding = diagnosed(program, "AG303", "relu()", "none of its inputs", severity="warning", values=True)
    assert "colour" not in finding.message


def splats(opacity):
    """Layers that are blended: the opacity is also in what the background is multiplied by, which is black."""
    weight, colour = nn.Parameter(torch.full((3,), opacity)), nn.Parameter(torch.rand(3))
    optimizer = torch.optim.SGD([weight, colour], lr=0.1)
    for _ in range(2):
        alpha = weight.clamp(0, 1)  # Bounded.
        image = (alpha * colour).sum() + (1 - alpha).sum() * torch.zeros(())
        trained(optimizer, (image - 1).square())


def test_zeros_on_one_of_several_ways():
    """Of two ops that pass back zeros the one that lies on every way to the parameter is told, and no other."""
    finding = diagnosed(
        lambda: splats(1.5), "AG303", "# Bounded.", "clamp", "outside its bounds",
        severity="warning", where=splats, values=True,
    )  # fmt: skip
    assert "throughout" not in finding.message
    calm(lambda: splats(0.5))
