"""AG101, AG104, AG105, AG303 as infos: one of several ways to a loss is closed, and parameters learn by the others."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import finding_text, inspected, line_of, summary, trained
from .twins import calm

X = torch.rand(6, 8, generator=torch.Generator().manual_seed(3))


def hinted(program, rule, culprit, *names, where=None):
    """The only finding is an info of that rule, which begins at the culprit's line."""
    report = inspected(program)
    assert [(f.rule, f.severity) for f in report.findings] == [(rule, "info")], summary(report)
    (finding,) = report.findings
    assert finding.locations[0].lineno == line_of(where or program, culprit), summary(report)
    assert all(name in finding_text(finding) for name in names), summary(report)


def quiet(*programs):
    """Nothing at all is said."""
    for program in programs:
        report = inspected(program)
        assert not report.findings, summary(report)


def fitted(forward, width=8):
    """Two steps of an encoder whose output goes through ``forward`` into a head."""
    encoder, head = nn.Linear(8, width), nn.Linear(width, 2)
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        trained(optimizer, head(forward(encoder(X))).pow(2).mean())


def test_two_factors_of_the_same_activations():
    """What is computed of the same activations as its other factor is a way of its own; a normaliser is none."""

    def by_mean(a):
        centre = a.mean(dim=1, keepdim=True).detach()
        return a * 2 - centre

    def gated(a):
        return a.sin() * a.sigmoid().detach()

    def by_norm(a):
        return a / a.norm(dim=1, keepdim=True).detach()

    hinted(lambda: fitted(by_mean), "AG101", ".detach()", "weight", where=by_mean)
    hinted(lambda: fitted(gated), "AG101", ".detach()", "weight", where=gated)
    quiet(lambda: fitted(by_norm))


def test_a_gate_that_goes_through_python():
    """A gate of the very activations that it multiplies, taken through a list or NumPy, keeps gradient from them."""

    def by_list(a):
        return a * torch.tensor(a.sigmoid().tolist())

    def by_numpy(a):
        gate = torch.from_numpy(a.detach().sigmoid().numpy())
        return a * gate

    def gated(a):
        return a * a.sigmoid()

    hinted(lambda: fitted(by_list), "AG105", "tolist()", "weight", where=by_list)
    assert [f.rule for f in inspected(lambda: fitted(by_numpy)).findings] in (["AG101"], ["AG105"])
    quiet(lambda: fitted(gated))


def test_straight_through_estimators_are_not_told():
    """They add a difference without history to what they estimate: that is the way its gradient takes."""

    def quantised(a):
        return a + (torch.round(a * 4) / 4 - a).detach()

    def other_order(a):
        return torch.sign(a.detach()) - a.detach() + a

    def fractional(a):
        return a - a.floor()

    quiet(lambda: fitted(quantised), lambda: fitted(other_order), lambda: fitted(fractional))


def test_targets_of_another_forward_are_not_told():
    """A target shares parameters with the prediction, and no value."""

    def bootstrapped():
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            target = net(X.flip(0)).detach()
            trained(optimizer, F.mse_loss(net(X), 0.9 * target))

    quiet(bootstrapped)


def test_an_argmax_that_comes_back_as_numbers():
    """One-hot codes of an argmax are numbers that are computed with; as an index an argmax has no gradient to lose."""

    def coded(a):
        codes = F.one_hot(a.argmax(dim=1), 8).float()
        return a.sin() + torch.tanh(codes @ torch.ones(8, 8))

    def chosen(a):
        return a + a.gather(1, a.argmax(dim=1, keepdim=True))

    report = inspected(lambda: fitted(coded))
    assert [(f.rule, f.severity) for f in report.findings] == [("AG104", "info")], summary(report)
    quiet(lambda: fitted(chosen))


def test_one_of_two_ways_through_a_flat_op():
    """`round` and `bernoulli` pass back zeros: what learns by another way as well is told of it, as a hint."""

    def rounded(a):
        return torch.cat([a[:, :4], torch.round(a[:, 4:] * a[:, :4])], dim=1)

    def drawn(a):
        return a * torch.bernoulli(a.sigmoid())

    hinted(lambda: fitted(rounded), "AG303", "torch.round(", "weight", where=rounded)
    hinted(lambda: fitted(drawn), "AG104", "torch.bernoulli(", "weight", where=drawn)


def test_a_flat_op_where_there_is_no_optimizer():
    """Without an optimizer everything that a gradient is asked of is meant to get one."""

    def probed(step):
        x = torch.rand(5, requires_grad=True)
        step(x * 3).sum().backward()
        return x.grad

    report = inspected(lambda: probed(torch.sign))
    assert [(f.rule, f.severity) for f in report.findings] == [("AG303", "warning")], summary(report)
    quiet(lambda: probed(torch.tanh))


def test_scaled_by_a_constant_a_term_is_still_a_term():
    """A term of the loss that lost its history is told of, also where the sum is multiplied by what has none."""

    def entropic(kept):
        actor, log_alpha = nn.Linear(8, 4), torch.zeros(())
        optimizer = torch.optim.SGD(actor.parameters(), lr=0.1)
        for _ in range(2):
            scores = actor(X)
            correction = kept(torch.log(1.5 + scores.tanh()))
            trained(optimizer, (log_alpha.exp() * (scores.pow(2) - correction).sum(dim=1)).mean())

    def apart(term):
        return term.detach()

    hinted(lambda: entropic(apart), "AG101", ".detach()", "weight", where=apart)
    quiet(lambda: entropic(lambda term: term))


def test_clipping_more_than_the_scaler_unscaled():
    """`unscale_` is given an optimizer: what is in none stays scaled, and that it is in none is what is wrong."""

    def mixed(parameters):
        net = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 1))
        optimizer, scaler = torch.optim.SGD(parameters(net), lr=0.1), torch.amp.GradScaler("cpu", init_scale=16.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(net(X).pow(2).mean()).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    report = inspected(lambda: mixed(lambda net: net[0].parameters()))
    assert [f.rule for f in report.findings] == ["AG404"], summary(report)
    calm(lambda: mixed(lambda net: net.parameters()))
