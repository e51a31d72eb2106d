"""AG101 to AG105 where several cuts lie behind one loss: the one to repair is told, and what is meant is not."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, silent, summary, trained

X = torch.rand(6, 8, generator=torch.Generator().manual_seed(5))


class Policy(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.body, self.score, self.value, self.block = nn.Linear(8, 6), nn.Linear(6, 3), nn.Linear(6, 1), block

    def forward(self, x):
        h = self.body(x).tanh()
        with self.block():
            scores = self.score(h)
        return scores.log_softmax(dim=1), self.value(h).squeeze(1)


def played(block):
    """Policy gradient with a learned baseline, which is detached as it should be."""
    policy = Policy(block)
    optimizer = torch.optim.Adam(policy.parameters())
    for _ in range(2):
        log_prob, value = policy(X)
        gain = X.sum(dim=1)
        actor = -(log_prob[:, 0] * (gain - value.detach())).mean()
        trained(optimizer, actor + F.mse_loss(value, gain))


def test_the_baseline_is_not_to_blame_for_a_policy_without_gradient():
    """What cuts the policy off is told; that the baseline's share of the same term is detached is meant."""
    for block in (torch.inference_mode, torch.no_grad):
        rule = "AG103" if block is torch.inference_mode else "AG102"
        diagnosed(
            lambda block=block: played(block),
            rule,
            "with self.block()",
            "score.weight",
            severity="warning",
            where=Policy.forward,
        )
    silent(lambda: played(torch.enable_grad))


def test_a_leaked_mode_behind_cached_features():
    """The features are meant to be constants; the switch behind them keeps the loss from having a graph."""

    def probing(switch):
        backbone, probe = nn.Linear(8, 6), nn.Linear(6, 2)
        pretraining, probing = (
            torch.optim.SGD(backbone.parameters(), lr=0.1),
            torch.optim.SGD(probe.parameters(), lr=0.1),
        )
        trained(pretraining, backbone(X).pow(2).mean())
        with torch.no_grad():
            features = backbone(X)
        torch.set_grad_enabled(switch)
        trained(probing, probe(features).pow(2).mean())

    diagnosed(
        lambda: probing(False),
        "AG102",
        "torch.set_grad_enabled(switch)",
        "probe.weight",
        severity="error",
        where=probing,
    )
    silent(lambda: probing(True))


def test_leaves_that_were_converted_before_the_loss():
    """Leaves made of older leaves by detach() learn themselves: what lies behind the loss is the block."""

    def program(block):
        weights = {"w": torch.ones(8, 2, requires_grad=True)}
        weights["w"] = weights["w"].detach().to(torch.float64).requires_grad_()
        with block():
            loss = (X.double() @ weights["w"]).pow(2).mean()
        loss.backward()
        return weights["w"].grad

    diagnosed(lambda: program(torch.no_grad), "AG102", "with block()", severity="error", where=program)
    silent(lambda: program(torch.enable_grad))


def test_a_hard_choice_before_the_loss_beside_a_target_network():
    """One-hot codes cut the prediction off; that the target has no gradient is as it should be."""

    def program(coded):
        net, target = nn.Linear(8, 4), nn.Linear(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        prediction = net(X)
        if coded:
            prediction = F.one_hot(prediction.argmax(dim=1), 4).float()
        with torch.no_grad():
            wanted = target(X)
        trained(optimizer, F.mse_loss(prediction, wanted))

    diagnosed(lambda: program(coded=True), "AG104", "prediction.argmax", "net.weight", severity="error", where=program)
    silent(lambda: program(coded=False))


def test_blocks_one_behind_the_other():
    """Where neither repair is enough by itself both are told."""

    def sick():
        encoder, head = nn.Linear(8, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        with torch.no_grad():
            hidden = encoder(X)
        with torch.inference_mode():
            loss = hidden.pow(2).mean()
        trained(optimizer, loss.clone())
        return head

    report = inspected(sick)
    places = {place.lineno for finding in alarms(report) for place in finding.locations}
    assert line_of(sick, "with torch.no_grad()") in places, summary(report)
