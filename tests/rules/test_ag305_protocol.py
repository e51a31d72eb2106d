"""AG305: zero_grad, backward, clip and step."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair(lr=0.05, kind=torch.optim.SGD):
    net = nn.Linear(4, 1)
    return net, kind(net.parameters(), lr=lr)


def test_gradients_never_cleared():
    """Without zero_grad gradients add up from step to step; zero_grad anywhere between two steps is enough."""

    def sick():
        net, optimizer = pair()
        for _ in range(3):
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            optimizer.step()

    def at_the_end():
        net, optimizer = pair()
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    def through_the_model():
        net, optimizer = pair()
        for _ in range(3):
            net.zero_grad()
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def by_hand():
        net, optimizer = pair()
        for _ in range(3):
            for p in net.parameters():
                p.grad = None
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def in_place():
        net, optimizer = pair()
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()
            optimizer.step()
            for p in net.parameters():
                p.grad.zero_()

    finding = diagnosed(sick, "AG305", "loss.backward()", "weight", "zero_grad", severity="warning")
    assert 0 <= finding.fix.find("optimizer.zero_grad()") < finding.fix.find(" backward()")
    calm(at_the_end, through_the_model, by_hand, in_place)


def test_accumulation_over_micro_batches():
    """Several backwards for one step are accumulation; never clearing afterwards is not."""

    def healthy():
        net, optimizer = pair()
        for step in range(4):
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()

    def sick():
        net, optimizer = pair()
        for step in range(4):
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()

    def cleared_each_time():
        net, optimizer = pair()
        for step in range(4):
            optimizer.zero_grad()
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()

    finding = diagnosed(sick, "AG305", ").backward()", "weight", severity="warning")
    assert "optimizer.zero_grad() once for each step()" in finding.fix
    diagnosed(cleared_each_time, "AG305", "optimizer.zero_grad()", "zero_grad", severity="warning")
    calm(healthy)


def test_zero_grad_of_the_other_optimizer():
    """Two optimizers, and zero_grad of the wrong one in the second half."""

    def program(second):
        left, left_optimizer = pair()
        right, right_optimizer = pair()
        for _ in range(3):
            left_optimizer.zero_grad()
            F.mse_loss(left(X), Y).backward()
            left_optimizer.step()
            (right_optimizer if second == "right" else left_optimizer).zero_grad()
            F.mse_loss(right(X), Y).backward()
            right_optimizer.step()

    diagnosed(
        lambda: program("left"), "AG305", "F.mse_loss(right(X), Y).backward()", "right.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program("right"))


def test_zero_grad_of_another_module():
    """The averaged copy has no gradients to clear, and that call is named; the model's own call clears."""

    def program(*, own):
        model, optimizer = pair()
        average = copy.deepcopy(model).requires_grad_(False)
        for _ in range(3):
            average.zero_grad()
            if own:
                model.zero_grad()
            F.mse_loss(model(X), Y).backward()
            optimizer.step()

    finding = diagnosed(
        lambda: program(own=False), "AG305", ").backward()", "weight", severity="warning", where=program
    )
    assert [place.source.strip() for place in finding.locations if "other parameters" in place.role] == [
        "average.zero_grad()"
    ]
    calm(lambda: program(own=True))


def test_loss_that_runs_through_another_optimizers_network():
    """An actor's or generator's loss leaves gradients in the critic, which are cleared before the critic's backward."""

    def program(*, cleared):
        actor, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        actor_optimizer = torch.optim.Adam(actor.parameters())
        critic_optimizer = torch.optim.Adam(critic.parameters())
        for _ in range(3):
            if cleared:
                critic_optimizer.zero_grad()
            critic(X).pow(2).mean().backward()
            critic_optimizer.step()
            actor_optimizer.zero_grad()
            critic(actor(X)).mean().neg().backward()
            actor_optimizer.step()

    calm(lambda: program(cleared=True))
    diagnosed(
        lambda: program(cleared=False), "AG305", "critic(actor(X)).mean().neg().backward()", "critic.weight",
        severity="warning", where=program,
    )  # fmt: skip


def test_cleared_between_backward_and_step():
    """zero_grad between backward and step leaves the step nothing, kept or freed."""

    def program(**how):
        net, optimizer = pair(kind=torch.optim.Adam)
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            optimizer.zero_grad(**how)
            optimizer.step()

    def by_model():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            net.zero_grad()
            optimizer.step()

    def by_hand():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            for p in net.parameters():
                p.grad = None
            optimizer.step()

    def zeroed():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            for p in net.parameters():
                p.grad.zero_()
            optimizer.step()

    diagnosed(program, "AG305", "optimizer.zero_grad(**how)", "zero_grad", "step", severity="warning")
    diagnosed(
        lambda: program(set_to_none=False), "AG305", "optimizer.zero_grad(**how)", severity="warning", where=program
    )
    diagnosed(by_model, "AG305", "net.zero_grad()", "weight", severity="warning")
    diagnosed(by_hand, "AG305", "p.grad = None", "weight", severity="warning")
    diagnosed(zeroed, "AG305", "p.grad.zero_()", "weight", severity="warning")


def test_no_backward_at_all():
    """A step without backward does nothing."""

    def forgotten():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            optimizer.step()
        return loss

    def step_first():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            optimizer.step()
            loss.backward()

    def one_of_two():
        net, optimizer = pair()
        other, idle = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            forgotten = F.mse_loss(other(X), Y)
            optimizer.step()
            idle.step()
        return forgotten

    diagnosed(forgotten, "AG305", "optimizer.step()", "backward", severity="warning")
    diagnosed(step_first, "AG305", "optimizer.step()", "backward", severity="warning")
    diagnosed(one_of_two, "AG305", "idle.step()", "other.weight", severity="warning", besides=("AG301",))


def test_backward_ran_and_reached_others():
    """Where a backward ran, a step without gradients has another reason: here weights that were copied, not used."""

    def generated(*, logged):
        hyper, net = nn.Linear(3, 8), nn.Linear(4, 2, bias=False)
        optimizer = torch.optim.Adam([*hyper.parameters(), *net.parameters()][:2])
        for _ in range(2):
            made = hyper(torch.ones(3)).view(2, 4)
            logged.append(made.detach().norm().item())
            with torch.no_grad():
                net.weight.copy_(made)
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            optimizer.step()

    report = inspected(lambda: generated(logged=[]))
    assert not [f for f in report.findings if f.rule == "AG305"], summary(report)


def test_generator_that_forgot_its_backward():
    """The discriminator's loss was backpropagated, the generator's only computed: the sentence says whose."""

    def program():
        generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
        first = torch.optim.Adam(generator.parameters())
        second = torch.optim.Adam(critic.parameters())
        losses = []
        for _ in range(2):
            second.zero_grad()
            critic(X).mean().backward()
            second.step()
            loss = critic(generator(X)).neg().mean()
            losses.append(loss.item())
            first.step()
        return losses

    report = inspected(program)
    (finding,) = [f for f in alarms(report) if f.rule == "AG305"]
    assert "never called" in finding.message, summary(report)
    assert "generator.weight" in finding.subjects
    assert finding.locations[0].lineno == line_of(program, "first.step()")


def test_a_step_that_is_never_called():
    """`optimizer.step` without its parentheses does nothing; a loop that only measures gradients reads them."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(torch.ones(3, 4)).pow(2).mean()
            loss.backward()
            _ = optimizer.step

    def measuring():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        norms = []
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).pow(2).mean().backward()
            norms.append(nn.utils.get_total_norm([p.grad for p in net.parameters()]))

    diagnosed(sick, "AG305", "loss.backward()", "weight", "bias", "step()", severity="warning")
    calm(measuring)


def test_cleared_before_the_loss_of_its_own():
    """What nobody clears meets two losses in turn: the place is before its own one, where the others are cleared."""

    def program(*, cleared):
        net, choice = nn.Linear(3, 1), nn.Parameter(torch.ones(3))
        of_net, of_choice = (torch.optim.SGD(p, lr=0.1) for p in (net.parameters(), [choice]))
        for _ in range(2):
            of_net.zero_grad()
            net(torch.ones(2, 3) * choice).sum().backward()
            of_net.step()
            of_net.zero_grad()  # Others.
            if cleared:
                of_choice.zero_grad()
            net(torch.ones(2, 3) * choice).pow(2).sum().backward()  # Own.
            of_choice.step()

    finding = diagnosed(
        lambda: program(cleared=False),
        "AG305",
        "net(torch.ones(2, 3) * choice).sum()",
        "choice",
        severity="warning",
        where=program,
    )
    assert any("Others." in place.source for place in finding.locations)
    (edit,) = finding.edits
    lines = Path(edit.filename).read_text(encoding="utf-8").splitlines()
    assert "Own." in lines[edit.lineno - 1]
