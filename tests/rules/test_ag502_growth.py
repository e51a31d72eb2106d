"""AG502: a leak grows from round to round; what a round keeps for itself and lets go of does not."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograd_inspector.capture.recording import retained_results

from .programs import alarms, inspected, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def leaking(*programs):
    """Each of them keeps results of one round after another, and that is all that is wrong with it."""
    for program in programs:
        report = inspected(program)
        assert [(f.rule, f.severity) for f in alarms(report)] == [("AG502", "warning")], summary(report)


def pair(rate=0.01):
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    return net, torch.optim.SGD(net.parameters(), lr=rate)


def accumulated(rounds, begin, *, step=None):
    """Four micro-batches a step, whose losses go into the list that ``begin`` returns."""
    net, optimizer = pair()
    losses = []
    for _ in range(rounds):
        losses = begin(losses)
        for part in X.chunk(4):
            loss = net(part).pow(2).mean()
            losses.append(loss)
            loss.backward()
        if step is None:
            optimizer.step()
            optimizer.zero_grad()
        else:
            step(net)
        torch.stack([loss.detach() for loss in losses]).mean()
    return losses


def emptied(losses):
    losses.clear()
    return losses


def by_hand(net):
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.sub_(0.01 * parameter.grad)
            parameter.grad = None


def by_hand_through_data(net):
    for parameter in net.parameters():
        parameter.data -= 0.01 * parameter.grad.data
        parameter.grad.data.zero_()


def test_micro_batches_of_one_step():
    """Their losses are alive at once until the step is over; kept over several steps they pile up."""
    for rounds in (1, 2, 5):
        calm(
            lambda rounds=rounds: accumulated(rounds, lambda losses: []),
            lambda rounds=rounds: accumulated(rounds, emptied),
        )
    leaking(lambda: accumulated(5, lambda losses: losses))


@pytest.mark.parametrize("step", [by_hand, by_hand_through_data])
def test_updates_by_hand(step):
    """Without an optimizer a round ends where parameters or gradients are written, or gradients dropped."""
    calm(lambda: accumulated(5, lambda losses: [], step=step))
    leaking(lambda: accumulated(5, lambda losses: losses, step=step))


def test_gradients_that_are_never_used():
    """Backwards whose gradients add up, with no update between them, are one round."""
    calm(lambda: accumulated(5, lambda losses: losses, step=lambda net: None))


class Schedule:
    """One forward, one backward, as the last stage of a pipeline: a step's losses stay until the next one begins."""

    def __init__(self, net):
        self.net, self.losses = net, []

    def step(self):
        self.losses.clear()
        for part, target in zip(X.chunk(4), Y.chunk(4), strict=True):
            self.losses.append(F.mse_loss(self.net(part), target))
            if len(self.losses) > 1:
                self.losses[-2].backward()
        self.losses[-1].backward()


def test_losses_of_a_pipeline_schedule():
    """They are exchanged as a whole from step to step."""

    def program(keep):
        net, optimizer = pair()
        schedule = Schedule(net)
        for _ in range(5):
            optimizer.zero_grad()
            schedule.step()
            optimizer.step()
            keep(schedule.losses)

    kept = []
    calm(lambda: program(lambda losses: None))
    leaking(lambda: program(kept.extend))


def actor_critic(keep):
    """Three optimizers; two of them step twice in every second round."""
    q, policy, alpha = nn.Linear(5, 1), nn.Linear(4, 1), torch.zeros(1, requires_grad=True)
    optimizers = [torch.optim.Adam(p) for p in (q.parameters(), policy.parameters(), [alpha])]

    def judge(action):
        return q(torch.cat([X, action], 1))

    for number in range(8):
        value = judge(torch.randn(8, 1)).view(-1)
        loss = value.pow(2).mean()
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        keep(loss)
        for _ in range(2 if number % 2 == 0 else 0):
            acted = judge(policy(X))
            policy_loss = -acted.mean()
            optimizers[1].zero_grad()
            policy_loss.backward()
            optimizers[1].step()
            alpha_loss = (alpha.exp() * 0.5).mean()
            optimizers[2].zero_grad()
            alpha_loss.backward()
            optimizers[2].step()


def test_optimizers_that_alternate_unevenly():
    """What each of them used last stays for several steps of the others, and does not become more."""
    kept = []
    calm(lambda: actor_critic(lambda loss: None))
    leaking(lambda: actor_critic(kept.append))


def adversaries(rounds, keep, *, each):
    critic, generator = nn.Linear(1, 1), nn.Linear(4, 1)
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in (critic, generator)]
    for _ in range(rounds):
        losses = []
        for _ in range(each):
            fake = generator(X).detach()
            loss = critic(fake).mean() - critic(Y).mean()
            optimizers[0].zero_grad()
            loss.backward()
            optimizers[0].step()
            losses.append(loss)
        keep(losses)
        optimizers[1].zero_grad()
        critic(generator(X)).mean().neg().backward()
        optimizers[1].step()


def test_losses_of_the_faster_of_two_optimizers():
    """A critic's losses of one step of its generator are one round's, though the critic stepped in between."""
    kept = []
    calm(*(lambda n=n: adversaries(n, lambda losses: None, each=5) for n in (1, 3)))
    leaking(lambda: adversaries(4, kept.extend, each=3))


def meta(tasks, keep):
    """Each task trains a copy with an optimizer of its own; the outer one steps when all have been seen."""
    net, outer = pair()
    for _ in range(3):
        losses = []
        for _ in range(tasks):
            learner = copy.deepcopy(net)
            inner = torch.optim.SGD(learner.parameters(), lr=0.1)
            for _ in range(2):
                inner.zero_grad()
                learner(X).pow(2).mean().backward()
                inner.step()
            inner.zero_grad()
            loss = F.mse_loss(learner(X), Y)
            loss.backward()
            losses.append(loss)
            for parameter, copied in zip(net.parameters(), learner.parameters(), strict=True):
                parameter.grad = copied.grad if parameter.grad is None else parameter.grad + copied.grad
        outer.step()
        outer.zero_grad()
        keep(losses)


def test_losses_of_an_inner_loop():
    """They live from one step of the outer optimizer to the next, however often the inner ones step."""
    kept = []
    calm(lambda: meta(5, lambda losses: None))
    leaking(lambda: meta(5, kept.extend))


def observed(rounds, keep):
    net, optimizer = pair()
    for number in range(rounds):
        loss = F.mse_loss(net(X), Y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keep(number, loss)


class Best:
    """The smallest loss, the one before and the one before that."""

    def __init__(self):
        self.best = self.last = self.older = None

    def __call__(self, _, loss):
        self.older, self.last = self.last, loss
        self.best = loss if self.best is None else min(self.best, loss)


def test_last_few_results():
    """What is exchanged one after the other does not grow, even if it takes a while to fill up."""

    def window(rounds, size):
        last = []
        observed(rounds, lambda _, loss: (last.append(loss), last.pop(0) if len(last) > size else None))

    def agents():
        last = {}
        observed(12, lambda number, loss: last.__setitem__(number % 4, loss))

    calm(lambda: observed(8, Best()), lambda: window(12, 4), agents)


def test_lists_that_grow_for_a_while():
    """An epoch's list piles up until the epoch ends; so does what is kept of every second step only."""

    def epochs():
        losses = []
        observed(14, lambda number, loss: (losses.clear() if number % 7 == 0 else None, losses.append(loss)))

    def seldom():
        losses = []
        observed(12, lambda number, loss: losses.append(loss) if number % 2 == 0 else None)

    leaking(epochs, seldom)


def test_more_results_than_are_followed(monkeypatch):
    """A list that outgrows what is looked at in every round is known by then."""
    monkeypatch.setattr(retained_results, "_HELD", 32)
    kept = []
    leaking(lambda: observed(40, lambda _, loss: kept.append(loss)))


def test_optimizer_that_is_made_anew_in_each_round():
    """Optimizers that replace each other at one line are one."""

    def program(keep):
        net = nn.Linear(4, 1)
        for _ in range(5):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
            loss = net(X).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            keep(loss)

    kept = []
    calm(lambda: program(lambda loss: None))
    leaking(lambda: program(kept.append))
