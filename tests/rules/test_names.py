"""What findings call tensors and models: as the program would write them."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Agent:
    """A plain object that holds a policy and its optimizer."""

    def __init__(self):
        self.policy = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.kept = []

    def act(self, keep):
        self.kept.append(keep(F.log_softmax(self.policy(X), 1)[:, 0]))

    def learn(self):
        loss = -torch.cat(self.kept).sum()
        self.kept = []
        trained(self.optimizer, loss)


def test_model_of_a_plain_object():
    """A model in an attribute of a plain object is called by that attribute."""

    def program(keep):
        agent = Agent()
        agent.act(keep)
        agent.learn()

    def cut(values):
        return values.data

    diagnosed(lambda: program(cut), "AG101", "values.data", "policy.weight", "policy.bias", severity="error", where=cut)
    calm(lambda: program(lambda values: values))


def test_layer_of_a_container_in_a_plain_object():
    """What was given to an optimizer twice has the name that it has in the model, however the program holds that."""

    class Trainer:
        def __init__(self):
            self.parts = nn.ModuleDict({"body": nn.Linear(4, 4), "last": nn.Linear(4, 2)})
            self.optimizer = torch.optim.SGD(self.parts["body"].parameters(), lr=0.1)

        def extend(self, name):
            self.optimizer.add_param_group({"params": self.parts[name].parameters(), "lr": 0.01})

    def program(name):
        trainer = Trainer()
        trainer.extend(name)
        trained(trainer.optimizer, trainer.parts["last"](trainer.parts["body"](X)).pow(2).mean())

    diagnosed(
        lambda: program("body"), "AG407", "add_param_group(", "body.weight", severity="error", where=Trainer.extend
    )
    calm(lambda: program("last"))


def test_no_property_runs_in_the_search_for_models():
    """Properties and __getattr__ of the program's objects are not called to find out what things are called."""
    asked = []

    class Proxy:
        def __init__(self, net):
            self.net = net

        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

        @property
        def parameters_of_all(self):
            asked.append("parameters_of_all")
            return []

    def program():
        proxy = Proxy(nn.Linear(4, 2))
        trained(torch.optim.SGD(proxy.net.parameters(), lr=0.1), proxy.net(X).pow(2).mean())

    calm(program)
    assert not asked


def test_copy_of_a_model_that_is_never_called():
    """The parameters of a copied model are called after the variable that holds it, none of them like it."""

    def program(clip):
        net = nn.Linear(4, 2)
        average = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(X).pow(2).mean().backward()
            nn.utils.clip_grad_norm_((average if clip else net).parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                for slow, fast in zip(average.parameters(), net.parameters(), strict=True):
                    slow.lerp_(fast, 0.1)

    report = inspected(lambda: program(clip=True))
    (found,) = [finding for finding in alarms(report) if finding.rule == "AG305"]
    assert found.subjects == ("average.weight", "average.bias"), summary(report)
    calm(lambda: program(clip=False))


def test_gradient_read_through_an_entry_or_an_attribute():
    """What has no name is called by the expression that its .grad was read of."""

    class Maps:
        def __init__(self):
            self.features = None

        def keep(self, _module, _args, output):
            self.features = output

        def weighted(self):
            return None if self.features.grad is None else self.features.grad.mean()

    def attribute():
        layer, maps = nn.Conv1d(1, 2, 3), Maps()
        layer.register_forward_hook(maps.keep)
        layer(X[:, None]).relu().sum().backward()
        return maps.weighted()

    def entry():
        table = {k: torch.randn(4, requires_grad=True).double() * 2 for k in ("slope", "offset")}
        (X.double() * table["slope"] + table["offset"]).sum().backward()
        return table["slope"].grad

    for program, name in ((attribute, "self.features"), (entry, "table['slope']")):
        (found,) = alarms(inspected(program))
        assert found.rule == "AG302"
        assert f".grad of {name} " in found.message


def test_parameter_made_in_forward():
    """A parameter made anew in each forward is called by its variable, and is one."""

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            shift = nn.Parameter(torch.zeros(4))
            return self.linear(x + shift)

    def program():
        net = Shifted()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())

    found = diagnosed(program, "AG107", "shift = nn.Parameter", severity="warning", where=Shifted)
    assert found.message.startswith("shift ")
    assert "Shifted.forward" in found.message
