"""AG109: a target network inside the optimizer that also gets gradient, and programs that copy weights on purpose."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Learner(nn.Module):
    """An online network and a target within one module, as agents are written."""

    def __init__(self):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        self.target = copy.deepcopy(self.online)

    def attached(self, x):
        return self.target(x).amax(1)

    def detached(self, x):
        return self.target(x).amax(1).detach()

    def load(self):
        self.target.load_state_dict(self.online.state_dict())

    @torch.no_grad()
    def average(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
            slow.lerp_(fast, 0.1)

    @torch.no_grad()
    def average_by_hand(self):
        for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
            slow.copy_(0.9 * slow + 0.1 * fast)


def agent(bootstrap, refresh, held=lambda net: net.parameters()):
    net = Learner()
    optimizer = torch.optim.Adam(held(net), lr=1e-2)
    for step in range(5):
        trained(optimizer, (net.online(X)[:, 0] - 1 - 0.9 * bootstrap(net, X)).pow(2).mean())
        if step % 2:
            refresh(net)


def test_target_network_that_the_optimizer_steps():
    """All parameters of an agent in one optimizer, gradient through its target: loaded or averaged, it is told."""
    for refresh in (Learner.load, Learner.average, Learner.average_by_hand):
        diagnosed(
            lambda refresh=refresh: agent(Learner.attached, refresh), "AG109", "return self.target(x).amax(1)",
            "target.0.weight", "online.0.weight", severity="warning", where=Learner.attached,
        )  # fmt: skip
        calm(lambda refresh=refresh: agent(Learner.detached, refresh, lambda net: net.online.parameters()))


def test_best_weights_restored():
    """Going back to the best weights so far, however often, overwrites a network with its own values."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(6):
            if step % 2 == 0:
                best = copy.deepcopy(net.state_dict())
            trained(optimizer, net(X).pow(2).mean())
            if step % 2:
                net.load_state_dict(best)

    calm(program)


def test_models_averaged_between_rounds():
    """Federated averaging: clients learn on losses of their own and are overwritten with the mean of all."""

    def program():
        clients = [nn.Linear(4, 2) for _ in range(3)]
        optimizers = [torch.optim.SGD(client.parameters(), lr=0.1) for client in clients]
        for _ in range(3):
            for client, optimizer in zip(clients, optimizers, strict=True):
                trained(optimizer, client(X).pow(2).mean())
            mean = {k: sum(c.state_dict()[k] for c in clients) / 3 for k in clients[0].state_dict()}
            for client in clients:
                client.load_state_dict(mean)

    calm(program)


def test_the_best_of_a_population_copied():
    """The worst member of a population takes over the weights of the best and goes on learning."""

    def program():
        good, bad = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (good, bad)]
        for _ in range(4):
            for net, optimizer in zip((good, bad), optimizers, strict=True):
                trained(optimizer, net(X).pow(2).mean())
            bad.load_state_dict(good.state_dict())

    calm(program)


def test_codes_averaged_from_what_an_encoder_computes():
    """A codebook that moves towards the encoder's outputs is no copy of the encoder."""

    def program():
        encoder, codes = nn.Linear(4, 4, bias=False), nn.Parameter(torch.randn(4, 4))
        optimizer = torch.optim.SGD([*encoder.parameters(), codes], lr=0.1)
        for _ in range(4):
            z = encoder(X)
            near = codes[torch.cdist(z, codes).argmin(1)]
            trained(optimizer, (z - near).pow(2).mean())
            with torch.no_grad():
                codes.lerp_(encoder(X[:4]), 0.1)

    calm(program)


def test_one_copy_at_the_start_of_a_phase():
    """A student that starts from its teacher once, and learns together with it, is no target network."""

    def program():
        teacher, student = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*teacher.parameters(), *student.parameters()], lr=0.1)
        for step in range(4):
            if step == 2:
                student.load_state_dict(teacher.state_dict())
            trained(optimizer, (teacher(X) - student(X)).pow(2).mean() + teacher(X).pow(2).mean())

    calm(program)
