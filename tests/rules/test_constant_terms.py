"""AG101, AG102, AG105: a term of the loss that lost its graph, while every parameter learns from the others."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, silent, trained

X, Y = torch.randn(8, 4), torch.arange(8) % 2
ALL = ("0.weight", "0.bias", "2.weight", "2.bias", "constant")


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def training(loss_of):
    """Three steps with that loss."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, loss_of(net))

    return program


def gradient_penalty(net):
    x = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x)
    return F.cross_entropy(net(X), Y) + 10 * (slope.norm(dim=1) - 1).pow(2).mean()


def penalty_of_data(net):
    penalty = sum(p.data.pow(2).sum() for p in net.parameters())
    loss = F.cross_entropy(net(X), Y)
    loss = loss + 0.1 * penalty
    return loss / 2


def penalty_in_place(net):
    loss = F.cross_entropy(net(X), Y)
    for parameter in net.parameters():
        loss += 0.1 * parameter.detach().abs().sum()
    return loss


def penalty_without_grad(net):
    with torch.no_grad():
        penalty = torch.stack([p.norm() for p in net.parameters()]).sum()
    return torch.stack([F.cross_entropy(net(X), Y), penalty]).sum()


def penalty_as_number(net):
    total = 0.0
    for parameter in net.parameters():
        total += parameter.pow(2).sum().item()
    return F.cross_entropy(net(X), Y) + 0.1 * total


def entropy_by_numpy(net):
    logits = net(X)
    weights = torch.from_numpy(logits.softmax(dim=1).detach().numpy())
    return F.cross_entropy(logits, Y) - 0.1 * (weights * weights.log()).sum()


def residual(net):
    x = X.clone().requires_grad_()
    (slope,) = torch.autograd.grad(net(x)[:, 0].sum(), x, retain_graph=True)
    return F.cross_entropy(net(X), Y) + (slope - torch.cos(x)).pow(2).mean()


@pytest.mark.parametrize(
    ("loss_of", "code", "culprit"),
    [
        (gradient_penalty, "AG101", "torch.autograd.grad("),
        (residual, "AG101", "torch.autograd.grad("),
        (penalty_of_data, "AG101", "p.data"),
        (penalty_in_place, "AG101", "detach()"),
        (penalty_without_grad, "AG102", "torch.no_grad()"),
        (penalty_as_number, "AG105", ".item()"),
        (entropy_by_numpy, "AG105", ".numpy()"),
    ],
)
def test_a_term_that_brings_no_gradient(loss_of, code, culprit):
    """The line that cut the term is named, with all that it keeps from learning, once for the whole loop."""
    found = diagnosed(training(loss_of), code, culprit, *ALL, severity="warning", where=loss_of)
    assert any(place.role == "added to the loss here" for place in found.locations) or "+=" in found.locations[0].source


def test_terms_that_bring_gradient():
    """The same terms with their graphs."""

    def with_graph(net):
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
        return F.cross_entropy(net(X), Y) + 10 * (slope.norm(dim=1) - 1).pow(2).mean()

    def with_decay(net):
        return F.cross_entropy(net(X), Y) + 0.1 * sum(p.pow(2).sum() for p in net.parameters())

    silent(training(with_graph), training(with_decay))


def test_a_penalty_on_samples_of_a_generator():
    """What only another optimizer steps is detached by intention: the penalty's own cut is named, and no other."""

    def program():
        critic, generator = nn.Linear(4, 1), nn.Linear(4, 4)
        right, left = torch.optim.Adam(critic.parameters()), torch.optim.Adam(generator.parameters())
        for _ in range(2):
            fake = generator(X).detach()
            x = (0.5 * X + 0.5 * fake).requires_grad_()
            (slope,) = torch.autograd.grad(critic(x).tanh().sum(), x)
            penalty = (slope.norm(dim=1) - 1).pow(2).mean()
            trained(right, critic(fake).mean() - critic(X).mean() + 10 * penalty)
            trained(left, -critic(generator(X)).mean())

    diagnosed(program, "AG101", "torch.autograd.grad(", "critic.weight", severity="warning")


def in_turns(create_graph, *, aside=False):
    """A discriminator, frozen while the generator learns, with a penalty of its own; ``aside``: it is a log's."""

    def program():
        critic, generator = nn.Sequential(nn.Linear(4, 1), nn.Tanh()), nn.Linear(4, 4)
        right, left = torch.optim.Adam(critic.parameters()), torch.optim.Adam(generator.parameters())
        for _ in range(2):
            critic.requires_grad_(True)
            generator.requires_grad_(False)
            trained(right, critic(generator(X)).mean() - critic(X).mean())
            x = X.clone().requires_grad_()
            score = critic(x)
            (slope,) = torch.autograd.grad(score.sum(), x, retain_graph=True, create_graph=create_graph)
            penalty = slope.pow(2).sum(1).mean()
            trained(right, score.pow(2).mean() if aside else penalty + 0 * score[0, 0])
            critic.requires_grad_(False)
            generator.requires_grad_(True)
            trained(left, -critic(generator(X)).mean())

    return program


def test_a_penalty_of_a_network_that_is_frozen_in_turns():
    """What is frozen when the program ends was meant to learn from the penalty; one that is only logged is no term."""
    sick = in_turns(create_graph=False)
    diagnosed(sick, "AG101", "torch.autograd.grad(", "critic.0.weight", severity="warning", where=in_turns)
    silent(in_turns(create_graph=True), in_turns(create_graph=False, aside=True))


def test_detached_by_intention():
    """Scales, baselines, straight-through estimators, attacks and reports take values without their history."""

    def balanced(net):
        logits = net(X)
        one, two = F.cross_entropy(logits, Y), logits.pow(2).mean()
        return one / one.item() + two / two.detach()

    def baseline(net):
        log = net(X).log_softmax(dim=1)
        advantage = torch.arange(8.0) - log.mean().detach()
        return -(log[:, 0] * advantage).mean()

    def straight_through(net):
        soft = net(X).softmax(dim=1)
        hard = (soft > 0.5).float()
        return (hard + soft - soft.detach()).pow(2).sum()

    def attacked(net):
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(F.cross_entropy(net(x), Y), x)
        return F.cross_entropy(net(X), Y) + F.cross_entropy(net(X + 0.1 * slope.sign()), Y)

    def flooded(net):
        loss = F.cross_entropy(net(X), Y)
        return (loss - 0.1).abs() + 0.1

    silent(*map(training, (balanced, baseline, straight_through, attacked, flooded)))


def test_a_running_sum_is_no_term():
    """What is added up for a report after each step is not part of any loss."""

    def program():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = torch.zeros(())
        for _ in range(3):
            loss = F.cross_entropy(net(X), Y)
            trained(optimizer, loss)
            total = total + loss.detach()
        return f"{total.item():.3f}"

    silent(program)


def mistakes_counted(net):
    out = net(X)
    wrong = (out.argmax(dim=1) != Y).float().mean()
    return F.cross_entropy(out, Y) + 0.5 * wrong


def overlap_of_masks(net):
    out = net(X)
    mask = (out.softmax(dim=1) > 0.5).float()
    overlap = (mask * F.one_hot(Y)).sum() / (mask.sum() + len(Y))
    return F.cross_entropy(out, Y) + 1 - overlap


@pytest.mark.parametrize(
    ("loss_of", "culprit"), [(mistakes_counted, "argmax"), (overlap_of_masks, "> 0.5")], ids=["counted", "masks"]
)
def test_a_term_of_comparisons(loss_of, culprit):
    """It looks like a part of the objective, and is a constant: what has no derivative stands between."""
    diagnosed(training(loss_of), "AG104", culprit, "constant", "0.weight", severity="warning", where=loss_of)


def balanced_experts(net):
    scores = net(X).softmax(dim=1)
    share = F.one_hot(scores.argmax(dim=1), 2).float().mean(dim=0)
    return F.cross_entropy(net(X), Y) + (share * scores.mean(dim=0)).sum()


def pseudo_labelled(net):
    labels = net(X).argmax(dim=1)
    return F.cross_entropy(net(X), Y) + F.cross_entropy(net(X), labels)


def averaged_over_the_sure(net):
    out = net(X)
    sure = (out.softmax(dim=1).amax(dim=1) > 0.5).float()
    each = F.cross_entropy(out, Y, reduction="none")
    return each.mean() + (each * sure).sum() / sure.sum().clamp(min=1)


@pytest.mark.parametrize("loss_of", [balanced_experts, pseudo_labelled, averaged_over_the_sure])
def test_comparisons_inside_a_term(loss_of):
    """A mask, a count or a label that weighs what carries gradient is meant to be a constant."""
    silent(training(loss_of))


def distilled(*, student, teacher=False):
    """A student that learns from labels, and by a soft loss of which the sides may be cut off."""

    def program():
        wise, net = network().eval(), network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            answers, soft = net(X), wise(X)
            one = answers.detach() if student else answers
            other = soft.detach() if teacher else soft
            loss = F.kl_div(F.log_softmax(one, 1), F.softmax(other, 1), reduction="batchmean")
            trained(optimizer, F.cross_entropy(answers, Y) + loss)

    return program


def test_term_that_teaches_only_what_nobody_moves():
    """The student is cut off from the soft loss, and the teacher, which no optimizer has, gets its gradient."""
    sick = distilled(student=True)
    diagnosed(sick, "AG101", "one = answers.detach()", "constant", severity="warning", where=distilled)
    silent(distilled(student=False, teacher=True))


def test_probe_on_detached_features():
    """The term was written for the probe: that no optimizer has it is told, and not that its features are detached."""

    def program():
        net, probe = network(), nn.Linear(2, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            answers = net(X)
            trained(optimizer, F.cross_entropy(answers, Y) + F.cross_entropy(probe(answers.detach()), Y))

    report = inspected(program)
    assert [finding.rule for finding in report.findings if finding.severity != "info"] == ["AG404"]


def test_actor_that_is_in_no_optimizer():
    """Its advantage is detached as it should be: that no optimizer has the actor is all there is to tell."""

    def program():
        actor, critic = network(), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
        for _ in range(2):
            value = critic(X).squeeze(1)
            chosen = actor(X).log_softmax(1).gather(1, Y[:, None]).squeeze(1)
            gain = 1 - value
            trained(optimizer, gain.pow(2).mean() - (chosen * gain.detach()).mean())

    report = inspected(program)
    assert [finding.rule for finding in report.findings if finding.severity != "info"] == ["AG404"]


class Gated(nn.Module):
    """Keeps a term for the loss, as layers with experts do."""

    def __init__(self):
        super().__init__()
        self.gate, self.out, self.balance = nn.Linear(4, 4), nn.Linear(4, 1), None

    def forward(self, x):
        share = self.gate(x).softmax(-1).mean(0)
        self.balance = share.pow(2).sum()  # kept
        return self.out(x * share)


def test_a_term_that_another_pass_overwrites():
    """The attribute that keeps the term is named, with the line that sets it, and not what the other pass returned."""
    x = torch.randn(8, 4)

    def program():
        net = Gated()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = net(x).pow(2).mean()
            with torch.no_grad():
                net(x)
            optimizer.zero_grad()
            (loss + 0.1 * net.balance).backward()
            optimizer.step()

    finding = diagnosed(program, "AG102", "torch.no_grad()", "gate.weight", severity="warning")
    assert finding.message.startswith("self.balance was computed while")
    assert any("# kept" in (place.source or "") for place in finding.locations)


def adversarial(kept_of, scored_again):
    """The generator's backward comes between the scores of its samples and the critic's loss."""
    generator, critic = nn.Linear(4, 4), network()
    opt_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        fake = generator(X)
        scores = critic(fake)
        kept = kept_of(scores)
        trained(opt_g, -scores.mean())
        again = scored_again(critic, fake, kept)
        real = F.relu(1 - critic(X)).mean()
        trained(opt_c, real + F.relu(1 + again).mean())


def without_graph(scores):
    return scores.detach()


def test_a_term_of_what_another_backward_freed():
    """The critic's loss takes the scores that it gave the samples before the generator's step: a constant."""
    diagnosed(
        lambda: adversarial(without_graph, lambda critic, fake, kept: kept), "AG101", "scores.detach()", "0.weight",
        severity="warning", where=without_graph,
    )  # fmt: skip
    silent(lambda: adversarial(without_graph, lambda critic, fake, kept: critic(fake.detach())))


def test_a_weight_of_what_another_backward_freed():
    """What was scored before weighs the critic's own scores: it is no term."""

    def weighted(critic, fake, kept):
        return critic(fake.detach()) * kept.sigmoid()

    silent(lambda: adversarial(without_graph, weighted))
