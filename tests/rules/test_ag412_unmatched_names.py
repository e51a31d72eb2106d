"""AG412: tensors that a module is given under names that it has not."""

from __future__ import annotations

import peft
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from .programs import diagnosed, inspected, summary
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def network():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def prefixed(state, prefix):
    return {f"{prefix}{name}": value for name, value in state.items()}


def infos(program):
    """The informations of AG412."""
    report = inspected(program)
    assert all(finding.severity == "info" for finding in report.findings if finding.rule == "AG412"), summary(report)
    return [finding for finding in report.findings if finding.rule == "AG412"]


def test_a_wrappers_prefix():
    """Nothing of the file is loaded, and the fix names the prefix."""

    def sick():
        state = prefixed(network().state_dict(), "module.")
        net = network()
        net.load_state_dict(state, strict=False)  # in vain
        net(X)

    finding = diagnosed(sick, "AG412", "# in vain", "module.0.weight", 'removeprefix("module.")', severity="warning")
    assert "0.weight" in finding.message


def test_a_prefix_that_is_lacking():
    """The other way round, and with one on either side."""

    def sick():
        net = nn.ModuleDict({"encoder": network()})
        net.load_state_dict(network().state_dict(), strict=False)  # in vain

    diagnosed(sick, "AG412", "# in vain", '"encoder." + name', severity="warning")

    def two():
        net = nn.ModuleDict({"encoder": network()})
        net.load_state_dict(prefixed(network().state_dict(), "model."), strict=False)  # in vain

    diagnosed(two, "AG412", "# in vain", '"encoder." + name.removeprefix("model.")', severity="warning")


def test_fast_weights_under_other_names():
    """An inner loop without any effect."""

    def sick():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        fast = {name.replace(".", "_"): p for name, p in net.named_parameters()}
        loss = functional_call(net, fast, (X,)).pow(2).mean()
        grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
        fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
        functional_call(net, fast, (X,)).pow(2).mean().backward()  # in vain
        optimizer.step()

    diagnosed(sick, "AG412", "# in vain", "0_weight", "0.weight", severity="warning")


def test_a_part_does_not_fit():
    """An information: a new head is what most programs want."""

    def new_head():
        state = network().state_dict()
        net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 3)))
        net.load_state_dict(state, strict=False)

    (finding,) = infos(new_head)
    assert finding.subjects == ("Sequential", "2.weight", "2.bias")
    assert "2.0.weight" in finding.message

    def some_fast_weights():
        net = network()
        functional_call(net, {"0.weight": torch.ones(4, 4), "2_weight": torch.ones(2, 4)}, (X,))

    assert [finding.subjects for finding in infos(some_fast_weights)] == [("Sequential", "2_weight")]


def test_a_trial_before_the_right_load():
    """Who tries a file as it is, and then without a prefix, has loaded it."""

    def program():
        state = prefixed(network().state_dict(), "module.")
        net = network()
        missing, _ = net.load_state_dict(state, strict=False)
        if missing:
            net.load_state_dict({name.removeprefix("module."): value for name, value in state.items()})

    assert len(infos(program)) == 1

    def in_parts():
        net = network()
        for part in (net[0].state_dict(), prefixed(net[0].state_dict(), "0."), prefixed(net[2].state_dict(), "2.")):
            net.load_state_dict(part, strict=False)

    assert len(infos(in_parts)) == 1

    def again_and_again():
        net = network()
        for _ in range(3):
            net.load_state_dict(prefixed(net.state_dict(), "module."), strict=False)  # in vain

    diagnosed(again_and_again, "AG412", "# in vain", severity="warning")


def test_the_fix_cures():
    """The names that the fix makes are loaded, and nothing is left to say."""

    def without_the_prefix():
        given = prefixed(network().state_dict(), "module.")
        net = network()
        net.load_state_dict({name.removeprefix("module."): value for name, value in given.items()}, strict=False)
        assert all(torch.equal(given[f"module.{name}"], value) for name, value in net.state_dict().items())

    def with_the_other():
        given = prefixed(network().state_dict(), "model.")
        net = nn.ModuleDict({"encoder": network()})
        net.load_state_dict({"encoder." + name.removeprefix("model."): value for name, value in given.items()})

    calm(without_the_prefix, with_the_other)
    assert infos(without_the_prefix) == infos(with_the_other) == []


def test_loads_that_are_meant_to_be_partial():
    """A backbone's weights, the backbone of a whole, adapters, what has no state; a load that raises."""

    def a_backbone_into_a_model():
        model = nn.ModuleDict({"backbone": network(), "head": nn.Linear(2, 2)})
        model.load_state_dict(prefixed(network().state_dict(), "backbone."), strict=False)

    def a_whole_into_its_backbone():
        state = {**network().state_dict(), "head.weight": torch.ones(1)}
        network().load_state_dict(state, strict=False)

    def adapters():
        config = peft.LoraConfig(target_modules=["0", "2"], r=2)
        model, other = peft.get_peft_model(network(), config), peft.get_peft_model(network(), config)
        peft.set_peft_model_state_dict(other, peft.get_peft_model_state_dict(model))
        optimizer = torch.optim.SGD([p for p in other.parameters() if p.requires_grad], lr=0.1)
        other(X).pow(2).mean().backward()
        optimizer.step()

    def what_has_no_state():
        nn.Sequential(nn.ReLU()).load_state_dict(network().state_dict(), strict=False)

    def nothing_given():
        network().load_state_dict({}, strict=False)

    def renamed_by_a_hook():
        net = network()

        def rename(module, state, prefix, *_):
            for name in list(state):
                state[name.removeprefix("old.")] = state.pop(name)

        net.register_load_state_dict_pre_hook(rename)
        net.load_state_dict(prefixed(network().state_dict(), "old."), strict=False)

    programs = (
        a_backbone_into_a_model,
        a_whole_into_its_backbone,
        adapters,
        what_has_no_state,
        nothing_given,
        renamed_by_a_hook,
    )
    calm(*programs)
    assert [infos(program) for program in programs] == [[]] * len(programs)


def test_functional_calls_that_are_right():
    """Parameters and buffers together, some of them, an ensemble, fast weights under the names of the model."""

    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.head = nn.BatchNorm1d(4), nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.norm(x))

    def parameters_and_buffers():
        net = Normed()
        functional_call(net, {**dict(net.named_parameters()), **dict(net.named_buffers())}, (X,))
        functional_call(net, (dict(net.named_parameters()), dict(net.named_buffers())), (X,))

    def some():
        net = network()
        functional_call(net, {"2.bias": torch.zeros(2)}, (X,))

    def an_ensemble():
        nets = [network() for _ in range(3)]
        params, buffers = torch.func.stack_module_state(nets)
        torch.func.vmap(lambda p, b: functional_call(nets[0], (p, b), (X,)))(params, buffers)

    def an_inner_loop():
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        fast = dict(net.named_parameters())
        for _ in range(2):
            loss = F.mse_loss(functional_call(net, fast, (X,)), X[:, :2])
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads, strict=True)}
        optimizer.zero_grad()
        F.mse_loss(functional_call(net, fast, (X,)), X[:, :2]).backward()
        optimizer.step()

    def tied():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        net[1].weight = net[0].weight
        functional_call(net, {"1.weight": torch.ones(4, 4)}, (X,))

    calm(parameters_and_buffers, some, an_ensemble, an_inner_loop, tied)
