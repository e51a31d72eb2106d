"""AG411: a model that was put into eval mode to be looked at, and is trained like that."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F

from .programs import alarms, diagnosed, inspected, line_of, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def dropping():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def normalised():
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def optimizer_of(net):
    return torch.optim.SGD(net.parameters(), lr=0.1)


def loss_of(net, x=X):
    return F.cross_entropy(net(x), Y)


def evaluated(net):
    net.eval()
    with torch.no_grad():
        return (net(X).argmax(1) == Y).float().mean()


class Noisy(nn.Module):
    """Stochastic depth, written by hand."""

    def forward(self, x):
        if not self.training:
            return x
        return x * torch.bernoulli(torch.full((len(x), 1), 0.5, device=x.device))


def test_an_evaluation_after_each_epoch():
    """The first epoch trains in train mode, the second does not."""

    def sick():
        net = dropping()
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            net.eval()  # for a look
            with torch.no_grad():
                net(X)

    finding = diagnosed(sick, "AG411", "# for a look", "net.1", "net.train()", severity="warning")
    lines = [location.lineno for location in finding.locations]
    assert {line_of(sick, "                net(X)"), line_of(sick, "loss_of(net)")} <= set(lines)


def test_norms_layers_of_recurrence_and_noise_of_ones_own():
    """Whatever computes otherwise in eval mode counts: by what it was told, or by what it drew in train mode."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.GRU(4, 4, 2, dropout=0.5, batch_first=True), nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.rnn(x[:, None])[0][:, 0])

    def program(make):
        net = make()
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(net)

    for make, layer in (
        (normalised, "net.1"),
        (Recurrent, "net.rnn"),
        (lambda: nn.Sequential(nn.Linear(4, 4), Noisy(), nn.Linear(4, 2)), "net.1"),
    ):
        diagnosed(lambda make=make: program(make), "AG411", "net.eval()", layer, severity="warning", where=evaluated)


def test_an_attack_in_eval_mode():
    """Nothing was ever trained in train mode, but train() was called and the attack took it back."""

    def attacked(net, adversarial):
        net.eval()  # for the attack
        adversarial = adversarial.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_of(net, adversarial), [adversarial])
        return (adversarial + 0.1 * gradient.sign()).detach()

    def sick():
        net = normalised()
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net, attacked(net, X)))

    diagnosed(sick, "AG411", "# for the attack", "net.1", severity="warning", where=attacked)

    def healthy():
        net = normalised()
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            adversarial = attacked(net, X)
            net.train()
            trained(optimizer, loss_of(net, adversarial))

    calm(healthy)


def test_an_attack_that_restores_the_wrong_mode():
    """The line that was to restore the mode is named beside the one that changed it."""
    net = normalised()
    net.eval()
    before = net.training

    def attacked(adversarial):
        net.eval()  # for the attack
        adversarial = adversarial.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_of(net, adversarial), [adversarial])
        net.train(before)  # restores eval mode
        return (adversarial + 0.1 * gradient.sign()).detach()

    def program():
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net, attacked(X)))

    finding = diagnosed(program, "AG411", "# for the attack", "net.1", severity="warning", where=attacked)
    assert any("# restores eval mode" in location.source for location in finding.locations)


def test_a_generator_looked_at_alone():
    """One of two models is put into eval mode for its pictures, and trains on."""

    def program(*, back):
        torch.manual_seed(0)
        G, D = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)), nn.Linear(4, 1)
        of_g, of_d = optimizer_of(G), optimizer_of(D)
        for _ in range(2):
            trained(of_d, D(X).mean() - D(G(X).detach()).mean())
            trained(of_g, D(G(X)).mean())
            G.eval()  # for pictures
            with torch.no_grad():
                G(X)
            G.train(back)

    finding = diagnosed(
        lambda: program(back=False), "AG411", "# for pictures", "G.1", severity="warning", where=program
    )
    assert "D.train" not in finding.fix
    calm(lambda: program(back=True))


def test_a_part_that_is_evaluated_by_itself():
    """An encoder is judged by its neighbours, and goes on to be trained in eval mode inside its model."""

    def program(*, back):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder, self.head = dropping(), nn.Linear(2, 2)

            def forward(self, x):
                return self.head(self.encoder(x))

        model = Model()
        optimizer = optimizer_of(model)
        for _ in range(2):
            trained(optimizer, loss_of(model))
            evaluated(model.encoder)
            if back:
                model.encoder.train()

    diagnosed(lambda: program(back=False), "AG411", "net.eval()", "model.encoder", severity="warning", where=evaluated)
    calm(lambda: program(back=True))


def test_a_long_run():
    """The steps that were in train mode are folded away; what was switched where is still known."""

    def program(*, back):
        net = dropping()
        optimizer = optimizer_of(net)
        net.train()
        for step in range(60):
            trained(optimizer, loss_of(net))
            if step == 2:
                evaluated(net)
                net.train(back)

    report = inspected(lambda: program(back=False))
    (finding,) = alarms(report)
    assert (finding.rule, finding.locations[0].lineno) == ("AG411", line_of(evaluated, "net.eval()")), summary(report)
    assert not alarms(inspected(lambda: program(back=True)))


def test_the_fix_cures():
    """With train() where the fix puts it nothing is left to say."""

    def with_train():
        net = dropping()
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(net)
            net.train()

    def with_the_mode_of_before():
        net = dropping()
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            was_training = net.training
            evaluated(net)
            net.train(was_training)

    calm(with_train, with_the_mode_of_before)


def test_eval_mode_that_is_meant():
    """From the start, for good, for norms alone, for what does not learn, or after all training."""

    def from_the_start():
        net = dropping()
        net.eval()
        evaluated(net)
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(net)

    def frozen_norms():
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            for module in net.modules():
                if isinstance(module, nn.BatchNorm1d):
                    module.eval()
            trained(optimizer, loss_of(net))
            evaluated(net)

    class FrozenNorms(nn.Sequential):
        def train(self, mode=True):
            super().train(mode)
            self[1].eval()
            return self

    def frozen_norms_by_an_override():
        net = FrozenNorms(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net))
            evaluated(net)

    def a_backbone_kept_in_eval_mode():
        model = nn.ModuleDict({"backbone": normalised(), "head": nn.Linear(2, 2)})
        optimizer = optimizer_of(model)
        model.train()
        model["backbone"].eval()
        for _ in range(2):
            trained(optimizer, F.cross_entropy(model["head"](model["backbone"](X)), Y))
            with torch.no_grad():
                model["head"](model["backbone"](X))

    def a_second_stage():
        net = dropping()
        trained(optimizer_of(net), loss_of(net))
        evaluated(net)
        net[0].requires_grad_(False)
        optimizer = torch.optim.SGD(net[2].parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net))

    def a_last_stage_without_dropout():
        net = dropping()
        optimizer = optimizer_of(net)
        for epoch in range(4):
            if epoch == 2:
                net.eval()
            trained(optimizer, loss_of(net))

    calm(
        from_the_start,
        frozen_norms,
        frozen_norms_by_an_override,
        a_backbone_kept_in_eval_mode,
        a_second_stage,
        a_last_stage_without_dropout,
    )


def test_eval_mode_of_others_and_without_effect():
    """Teachers, targets, reward models, inputs that learn; a model without layers that the mode changes."""

    def a_teacher():
        student, teacher = dropping(), dropping()
        teacher.eval()
        optimizer = optimizer_of(student)
        for _ in range(2):
            with torch.no_grad():
                target = teacher(X).softmax(1)
            trained(optimizer, F.cross_entropy(student(X), target))

    def a_target_network():
        net = normalised()
        target = copy.deepcopy(net).eval()
        optimizer = optimizer_of(net)
        for _ in range(2):
            with torch.no_grad():
                wanted = target(X)
            trained(optimizer, F.mse_loss(net(X), wanted))
            for p, t in zip(net.parameters(), target.parameters(), strict=True):
                t.data.lerp_(p.data, 0.01)
            for b, t in zip(net.buffers(), target.buffers(), strict=True):
                t.copy_(b)

    def a_loss_network():
        judge, net = dropping(), nn.Linear(4, 4)
        trained(optimizer_of(judge), loss_of(judge))
        evaluated(judge)
        judge.requires_grad_(False)
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(judge, net(X)))

    def a_picture_that_learns():
        net = dropping()
        trained(optimizer_of(net), loss_of(net))
        evaluated(net)
        picture = X.clone().requires_grad_()
        optimizer = torch.optim.Adam([picture], lr=0.1)
        for _ in range(2):
            trained(optimizer, loss_of(net, picture))

    def no_layer_that_the_mode_changes():
        net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0), nn.LayerNorm(4), nn.Linear(4, 2))
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(net)

    def norms_without_statistics():
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 2))
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(net)

    def a_copy_that_is_evaluated():
        net = dropping()
        optimizer = optimizer_of(net)
        for _ in range(2):
            trained(optimizer, loss_of(net))
            evaluated(copy.deepcopy(net))

    def at_the_end():
        net = dropping()
        optimizer = optimizer_of(net)
        for _ in range(2):
            net.train()
            trained(optimizer, loss_of(net))
            evaluated(net)
        F.cross_entropy(net(X), Y).backward()

    calm(
        a_teacher,
        a_target_network,
        a_loss_network,
        a_picture_that_learns,
        no_layer_that_the_mode_changes,
        norms_without_statistics,
        a_copy_that_is_evaluated,
        at_the_end,
    )
