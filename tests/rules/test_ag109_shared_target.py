"""AG109: the model that computes the targets has parameters in common with the one that is trained."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm

DATA = torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self, body, head):
        super().__init__()
        self.body, self.head = body, head

    def forward(self, x):
        return self.head(self.body(x).tanh())


def distilled(teacher, student):
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for x in DATA:
        with torch.no_grad():
            target = teacher(x + 1)
        optimizer.zero_grad()
        F.mse_loss(student(x), target).backward()
        optimizer.step()


def test_student_that_begins_with_the_layers_of_its_teacher():
    """The line that puts a layer of the teacher into the student; a copy of it is the student's own."""

    def program(take):
        teacher = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        student = Net(take(teacher.body), nn.Linear(4, 1))
        distilled(teacher, student)

    report = inspected(lambda: program(lambda layer: layer))
    (found,) = [each for each in report.findings if each.rule == "AG109"]
    assert found.severity == "info", "a part may be shared on purpose"
    assert "self.body, self.head = body, head" in found.locations[0].source
    assert "body.weight" in found.message
    calm(lambda: program(copy.deepcopy))


def test_target_network_that_is_a_shallow_copy():
    """`copy.copy` shares the parameters."""

    def program(copied):
        online = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        target = copied(online)
        optimizer = torch.optim.Adam(online.parameters())
        for x in DATA:
            with torch.no_grad():
                value = 0.9 * target(x + 1)
            optimizer.zero_grad()
            F.smooth_l1_loss(online(x), value).backward()
            optimizer.step()

    def shallow():
        online = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        target = copy.copy(online)
        optimizer = torch.optim.Adam(online.parameters())
        for x in DATA:
            with torch.no_grad():
                value = 0.9 * target(x + 1)
            optimizer.zero_grad()
            F.smooth_l1_loss(online(x), value).backward()
            optimizer.step()

    diagnosed(shallow, "AG109", "target = copy.copy(online)", "target", "online", severity="warning")
    calm(lambda: program(copy.deepcopy))


def scored(model, x):
    return model(x).squeeze(-1)  # called


class Preferences:
    """What the policy gains over its reference, in which the loss is no comparison of torch's."""

    def __init__(self, policy, copied):
        self.policy = policy
        self.reference = copied(policy)  # copied

    def loss(self, x):
        with torch.no_grad():
            base = scored(self.reference, x) - scored(self.reference, -x)
        margin = scored(self.policy, x) - scored(self.policy, -x)
        return -F.logsigmoid(margin - base).mean()


def test_reference_that_is_a_shallow_copy_and_is_subtracted():
    """The line that copies, whatever the model is called where it is called."""

    def program(copied, loss_of=Preferences.loss):
        both = Preferences(Net(nn.Linear(4, 4), nn.Linear(4, 1)), copied)
        optimizer = torch.optim.Adam(both.policy.parameters())
        for x in DATA:
            optimizer.zero_grad()
            loss_of(both, x).backward()
            optimizer.step()

    def bootstrapped(both, x):
        with torch.no_grad():
            goal = 1 + 0.9 * scored(both.reference, x + 1)
        return (goal - scored(both.policy, x)).square().mean()

    for loss_of in (Preferences.loss, bootstrapped):
        diagnosed(
            lambda loss_of=loss_of: program(copy.copy, loss_of), "AG109", "# copied", "the copy of model",
            severity="warning", where=Preferences,
        )  # fmt: skip
        calm(lambda loss_of=loss_of: program(copy.deepcopy, loss_of))
        calm(lambda loss_of=loss_of: program(lambda model: copy.deepcopy(copy.copy(model)), loss_of))


def test_baseline_of_a_critic_on_the_layers_of_its_policy():
    """What another kind of model computes and is subtracted is no target."""

    class Critic(nn.Module):
        def __init__(self, policy):
            super().__init__()
            self.policy = policy

        def forward(self, x):
            return self.policy(x).mean(-1, keepdim=True)

    def program():
        policy = Net(nn.Linear(4, 4), nn.Linear(4, 1))
        policy(DATA[0])
        critic = Critic(policy)
        optimizer = torch.optim.Adam(policy.parameters())
        for x in DATA:
            with torch.no_grad():
                baseline = critic(x)
            optimizer.zero_grad()
            ((policy(x) - baseline) * x).mean().backward()
            optimizer.step()

    calm(program)


def test_actor_on_the_encoder_of_its_critic():
    """The next action is chosen with the shared encoder; the target's numbers come from a copy of the critic."""

    def program():
        encoder = nn.Linear(4, 4)
        actor, critic = Net(encoder, nn.Linear(4, 1)), Net(encoder, nn.Linear(4, 2))
        slow = copy.deepcopy(critic).requires_grad_(False)
        optimizer = torch.optim.Adam(critic.parameters())
        for x in DATA:
            with torch.no_grad():
                action = (actor(x + 1) > 0).long()
                target = slow(x + 1).gather(1, action)
            optimizer.zero_grad()
            F.mse_loss(critic(x)[:, :1], target).backward()
            optimizer.step()

    calm(program)


class WithFunction(nn.Module):
    """Keeps a function of its own layers as an attribute, or is told which layers to call."""

    def __init__(self, *, as_lambda):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self.features = (lambda x: self.body(x).tanh()) if as_lambda else self.computed

    def computed(self, x):
        return self.body(x).tanh()

    def forward(self, x):
        return self.head(self.features(x))


def test_copied_target_that_calls_a_function_of_the_original():
    """A lambda stays bound to the original in a deep copy, whose own layers stand idle; a method is copied too."""

    def sick():
        online = WithFunction(as_lambda=True)
        target = copy.deepcopy(online)
        distilled(target, online)

    def bound():
        online = WithFunction(as_lambda=False)
        distilled(copy.deepcopy(online), online)

    def trunk_on_purpose():
        online, target = WithFunction(as_lambda=False), WithFunction(as_lambda=False)
        target.body = online.body
        distilled(target, online)

    diagnosed(
        sick, "AG109", "target = copy.deepcopy(online)", "body.weight", "its own copies", severity="warning", where=sick
    )
    calm(bound, trunk_on_purpose)
