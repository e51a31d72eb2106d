"""AG106: nothing that reaches the loss requires grad."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def test_everything_frozen():
    """A loop that freezes too much leaves nothing to differentiate."""

    def fine_tuned(keep):
        net = nn.ModuleDict({"backbone": nn.Linear(4, 4), "head": nn.Linear(4, 2)})
        for name, parameter in net.named_parameters():
            parameter.requires_grad = name.startswith(keep)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.cross_entropy(net["head"](net["backbone"](X)), Y))

    finding = diagnosed(
        lambda: fine_tuned("classifier"), "AG106", "parameter.requires_grad = name", "head.weight", "frozen",
        severity="error", where=fine_tuned,
    )  # fmt: skip
    assert finding.fix
    silent(lambda: fine_tuned("head"))


def test_module_frozen_in_a_helper():
    """requires_grad_(False) of a helper is where the gradient ended."""

    def freeze(module):
        for parameter in module.parameters():
            parameter.requires_grad_(False)

    def program(part):
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        freeze(part(net))
        trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(lambda net: net), "AG106", "requires_grad_(False)", "0.weight", severity="error", where=freeze
    )
    silent(lambda: program(lambda net: net[0]))


def test_reentrant_checkpoint_without_grad_input():
    """checkpoint(use_reentrant=True) of a batch records nothing; the other kind, or an input with grad, does."""

    def program(reentrant, prepare=lambda x: x):
        body, head = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
        features = checkpoint(body, prepare(X), use_reentrant=reentrant)
        trained(optimizer, F.cross_entropy(head(features), Y))

    diagnosed(
        lambda: program(True), "AG106", "checkpoint(body", "body.weight", "use_reentrant", severity="warning",
        where=program,
    )  # fmt: skip
    silent(lambda: program(False), lambda: program(True, lambda x: x.clone().requires_grad_()))


def test_reentrant_checkpoint_of_the_whole_model():
    """When the checkpoint holds all that learns, backward raises."""

    def program(reentrant):
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.cross_entropy(checkpoint(net, X, use_reentrant=reentrant), Y))

    diagnosed(
        lambda: program(True), "AG106", "checkpoint(net, X", "0.weight", "use_reentrant", severity="error",
        where=program,
    )  # fmt: skip
    silent(lambda: program(False))


def test_loss_made_of_the_targets():
    """A loss that the model's output is not part of."""

    def program(loss):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, loss(net(X).squeeze(-1), Y.float()))

    def wrong(prediction, target):
        return F.mse_loss(target, target)

    diagnosed(lambda: program(wrong), "AG106", "return F.mse_loss", "requires grad", severity="error", where=wrong)
    silent(lambda: program(F.mse_loss))


def test_gradient_asked_for_an_input_that_does_not_require_it():
    """autograd.grad with respect to a plain batch: the batch has to require grad before the forward."""

    def sick():
        net, x = nn.Linear(4, 2), X.clone()
        score = net(x).logsumexp(dim=1).sum()
        return torch.autograd.grad(score, x)

    def healthy():
        net, x = nn.Linear(4, 2), X.clone().requires_grad_()
        score = net(x).logsumexp(dim=1).sum()
        return torch.autograd.grad(score, x)

    diagnosed(sick, "AG106", "torch.autograd.grad(score, x)", "x", "requires_grad_", severity="error")
    silent(healthy)


def test_gradient_of_a_batch_read_but_never_computed():
    """FGSM on a batch that does not require grad: `x.grad` stays None and the next line fails on it."""

    def attack(prepare):
        net, x = nn.Linear(4, 2), prepare(X.clone())
        F.cross_entropy(net(x), Y).backward()
        return (x + 0.1 * x.grad.sign()).detach()

    diagnosed(
        lambda: attack(lambda x: x), "AG106", "x.grad.sign()", "x", "requires_grad_", severity="error", where=attack
    )
    silent(lambda: attack(lambda x: x.requires_grad_()))


def test_gradient_of_a_batch_of_a_loader():
    """A loop's variable is assigned by no line: the batch is called what the source calls it where it is read."""

    def attack(batches, learn):
        net = nn.Linear(4, 2)
        for data, target in batches:
            data.requires_grad_(learn)
            F.cross_entropy(net(data), target).backward()
            adversarial = data + 0.1 * data.grad.sign()
        return adversarial

    finding = diagnosed(
        lambda: attack([(torch.rand(8, 4), Y)], learn=False), "AG106", "data.grad.sign()", "data",
        severity="error", where=attack,
    )  # fmt: skip
    assert "data.requires_grad_()" in finding.fix
    silent(lambda: attack([(torch.rand(8, 4), Y)], learn=True))


def test_frozen_discriminator_not_thawed():
    """A GAN that freezes its discriminator for the generator's step has to thaw it for the next one."""

    def gan(thaw):
        g, d = nn.Linear(2, 4), nn.Linear(4, 1)
        opt_g, opt_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
        for _ in range(2):
            if thaw:
                d.requires_grad_(True)
            trained(opt_d, d(g(torch.randn(8, 2)).detach()).mean() - d(X).mean())
            d.requires_grad_(False)
            trained(opt_g, -d(g(torch.randn(8, 2))).mean())

    diagnosed(lambda: gan(thaw=False), "AG106", "d.requires_grad_(False)", "d.weight", severity="error", where=gan)
    silent(lambda: gan(thaw=True))


def test_bare_weight_that_does_not_require_grad():
    """A weight made without requires_grad=True is named, with the line that made it."""

    def descent(make):
        weight = make()
        loss = (X @ weight).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            weight -= 0.1 * weight.grad

    def plain():
        weight = torch.ones(4, 1)
        return weight  # noqa: RET504 - the name is what the message says

    finding = diagnosed(
        lambda: descent(plain),
        "AG106",
        "loss = (X @ weight)",
        "weight",
        "requires_grad",
        severity="error",
        where=descent,
    )
    assert any("torch.ones(4, 1)" in place.source for place in finding.locations)
    silent(lambda: descent(lambda: torch.ones(4, 1, requires_grad=True)))


class Switchable(nn.Module):
    """A frozen layer with an adapter that can be left out."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 2).requires_grad_(False)
        self.adapter, self.adapts = nn.Linear(4, 2), True

    def forward(self, x):
        return self.base(x) + self.adapter(x) if self.adapts else self.base(x)


def test_model_called_past_what_learns():
    """What the optimizer has of the model is named, and the call that went past it is shown first."""

    def program(*, adapts):
        net = Switchable()
        optimizer = torch.optim.SGD(net.adapter.parameters(), lr=0.1)
        net.adapts = adapts
        out = net(X)  # the call
        trained(optimizer, F.cross_entropy(out, Y))

    finding = diagnosed(
        lambda: program(adapts=False), "AG106", "# the call", "net.adapter.weight", "net.base.weight",
        severity="error", where=program,
    )  # fmt: skip
    assert "which the optimizer holds, are not used in it" in finding.message
    silent(lambda: program(adapts=True))
