"""AG201 in training loops: parameters, buffers and states written between a forward and its backward."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def test_step_between_forward_and_backward():
    """Actor and critic share a trunk: the first optimizer's step spoils the second loss."""

    def sick():
        trunk, actor, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        opt_a = torch.optim.Adam([*trunk.parameters(), *actor.parameters()])
        opt_c = torch.optim.Adam([*trunk.parameters(), *critic.parameters()])
        policy_loss = F.cross_entropy(actor(trunk(X).tanh()), Y)
        value_loss = critic(trunk(X.requires_grad_(False)).tanh()).tanh().pow(2).mean()
        opt_a.zero_grad()
        policy_loss.backward()
        opt_a.step()
        critic_input = trunk(X).tanh()
        loss = critic(critic_input).pow(2).mean()
        opt_c.zero_grad()
        with torch.no_grad():
            critic.weight.mul_(0.99)
        (loss + value_loss).backward()
        opt_c.step()

    def healthy():
        trunk, actor, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
        opt_a = torch.optim.Adam([*trunk.parameters(), *actor.parameters()])
        opt_c = torch.optim.Adam([*trunk.parameters(), *critic.parameters()])
        trained(opt_a, F.cross_entropy(actor(trunk(X).tanh()), Y))
        trained(opt_c, critic(trunk(X).tanh()).pow(2).mean())

    diagnosed(sick, "AG201", "critic.weight.mul_(0.99)", "critic.weight", "mul_", severity="error")
    silent(healthy)


def test_discriminator_stepped_before_the_generators_backward():
    """The generator's loss went through the discriminator that has been stepped since."""

    def gan(train):
        g, d = mlp(), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        opt_g, opt_d = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
        fake = g(X)
        train(opt_g, -d(fake).mean(), opt_d, d(fake.detach()).mean() - d(torch.randn(8, 2)).mean())

    def discriminator_first(opt_g, loss_g, opt_d, loss_d):
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()

    def generator_first(opt_g, loss_g, opt_d, loss_d):
        trained(opt_g, loss_g)
        trained(opt_d, loss_d)

    finding = diagnosed(
        lambda: gan(discriminator_first), "AG201", "opt_d.step()", "Adam.step", "d.2.weight", severity="error",
        where=discriminator_first,
    )  # fmt: skip
    assert "optimizer.step()" in finding.fix
    silent(lambda: gan(generator_first))


def test_weights_clipped_or_initialised_before_backward():
    """Clipping weights, initialising again and loading a state between forward and backward all write parameters."""

    def program(between, after=lambda net: None):
        net = mlp()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        saved = copy.deepcopy(net.state_dict())
        net.saved = saved
        loss = F.cross_entropy(net(X), Y)
        between(net)
        trained(optimizer, loss)
        after(net)

    def clipped(net):
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.clamp_(-0.01, 0.01)

    def initialised(net):
        nn.init.xavier_uniform_(net[2].weight)

    def loaded(net):
        net.load_state_dict(net.saved)

    diagnosed(lambda: program(clipped), "AG201", "clamp_(-0.01", "2.weight", "clamp_", severity="error", where=clipped)
    diagnosed(lambda: program(initialised), "AG201", "xavier_uniform_", "2.weight", severity="error", where=initialised)
    diagnosed(lambda: program(loaded), "AG201", "load_state_dict", "2.weight", severity="error", where=loaded)
    silent(*(lambda after=after: program(lambda net: None, after) for after in (clipped, initialised, loaded)))


def test_static_input_refilled():
    """A static buffer filled for two micro-batches before one backward; one backward each is fine."""

    def accumulated(each):
        net, static = mlp(), torch.empty(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for chunk, labels in zip(X.split(4), Y.split(4), strict=True):
            static.copy_(chunk)
            loss = F.cross_entropy(net(static), labels)
            if each:
                loss.backward()
            else:
                total = total + loss
        if not each:
            total.backward()
        optimizer.step()

    diagnosed(
        lambda: accumulated(each=False), "AG201", "static.copy_(chunk)", "static", "copy_", severity="error",
        where=accumulated,
    )  # fmt: skip
    silent(lambda: accumulated(each=True))


def test_embedding_with_max_norm():
    """max_norm renormalises the weight in place at each forward."""

    def matched(first):
        table = nn.Embedding(10, 4, max_norm=1.0)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
        a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
        trained(optimizer, (first(table) @ table.weight.T + (table(a) * table(b)).sum()).mean())

    def weight_then_lookup(table):
        return torch.randn(3, 4) @ (table.weight @ table.weight.T @ table.weight)[:4]

    report = diagnosed(
        lambda: matched(weight_then_lookup), "AG201", "trained(optimizer, (first(table)", "weight", "embedding",
        severity="error", where=matched,
    )  # fmt: skip
    assert report
    silent(lambda: matched(lambda table: torch.randn(3, 4)))


def test_hidden_state_overwritten_for_the_next_batch():
    """Copying the new state into the buffer that the graph still holds."""

    def stateful(carry):
        cell = nn.GRUCell(4, 6)
        optimizer = torch.optim.Adam(cell.parameters())
        state = torch.zeros(8, 6)
        total = torch.zeros(())
        for _ in range(2):
            new = cell(X, state)
            total = total + new.pow(2).mean()
            state = carry(state, new)
        trained(optimizer, total)

    def overwritten(state, new):
        state.copy_(new.detach())
        return state

    diagnosed(
        lambda: stateful(overwritten), "AG201", "state.copy_(new.detach())", "state", "copy_", severity="error",
        where=overwritten,
    )  # fmt: skip
    silent(lambda: stateful(lambda state, new: new), lambda: stateful(lambda state, new: new.detach()))


def test_input_edited_inside_a_checkpoint():
    """A checkpointed function that edits its input meets the edited one when it is computed again."""

    def program(block):
        first, second = nn.Linear(4, 4), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
        hidden = checkpoint(block, first(X), second, use_reentrant=False)
        trained(optimizer, F.cross_entropy(hidden, Y))

    def editing(x, layer):
        x.mul_(0.5)
        return layer(x.tanh())

    diagnosed(lambda: program(editing), "AG201", "x.mul_(0.5)", "mul_", severity="error", where=editing)
    silent(lambda: program(lambda x, layer: layer((x * 0.5).tanh())))
