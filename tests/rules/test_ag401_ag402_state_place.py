"""AG401 and AG402: optimizer state on another device, or of another dtype, than its parameter."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, inspected, quoted, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def one_step(net, optimizer, dtype=torch.float32):
    trained(optimizer, net(X.to(dtype)).pow(2).mean())


def saved(kind=torch.optim.Adam, **settings):
    """A model and the optimizer checkpoint that it left."""
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters(), **settings)
    one_step(net, optimizer)
    return net, copy.deepcopy(optimizer.state_dict())


def test_model_converted_after_the_state_was_loaded():
    """`.double()` after load_state_dict converts the parameters alone; before it, loading casts the state."""

    def sick():
        net, checkpoint = saved()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        net.double()
        one_step(net, optimizer, torch.float64)

    def healthy():
        net, checkpoint = saved()
        net.double()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        one_step(net, optimizer, torch.float64)

    diagnosed(sick, "AG402", "net.double()", "exp_avg", "weight", severity="error")
    calm(healthy)


def test_momentum_that_goes_on_in_another_dtype():
    """SGD with momentum does not raise: the buffer stays in the old precision."""

    def program(*, early):
        net, checkpoint = saved(torch.optim.SGD, lr=0.1, momentum=0.9)
        if early:
            net.to(torch.float64)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        optimizer.load_state_dict(checkpoint)
        if not early:
            net = net.to(torch.float64)
        one_step(net, optimizer, torch.float64)

    diagnosed(
        lambda: program(early=False), "AG402", "net = net.to(torch.float64)", "momentum_buffer", "weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(early=True))


def test_more_bits_for_a_while_and_back():
    """.double() for an exact evaluation and .float() back leave values and state as they were."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        one_step(net, optimizer)
        net.double()
        net.float()
        one_step(net, optimizer)

    calm(program)


def test_converted_in_the_middle_of_training():
    """`.double()` between two steps of Adam breaks the second."""

    def sick():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(net.parameters())
        one_step(net, optimizer)
        net.to(dtype=torch.float64)
        one_step(net, optimizer, torch.float64)

    def healthy():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.AdamW(net.parameters())
        net.to(dtype=torch.float64)
        one_step(net, optimizer, torch.float64)

    diagnosed(sick, "AG402", "net.to(dtype=torch.float64)", "exp_avg", severity="error")
    calm(healthy)


def test_state_assigned_on_another_device():
    """State put on another device by hand does not follow its parameter."""

    def sick():
        net, checkpoint = saved()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        for state in optimizer.state.values():
            state["exp_avg"] = state["exp_avg"].to("meta")
        one_step(net, optimizer)

    def healthy():
        net, checkpoint = saved()
        optimizer = torch.optim.Adam(net.parameters())
        optimizer.load_state_dict(checkpoint)
        for state in optimizer.state.values():
            state["exp_avg"] = state["exp_avg"].to(net.weight.device)
        one_step(net, optimizer)

    diagnosed(sick, "AG401", '.to("meta")', "exp_avg", "meta", severity="error")
    calm(healthy)


def test_momentum_on_another_device_without_an_error():
    """SGD with a momentum buffer on another device silently stops moving."""

    def sick():
        net, checkpoint = saved(torch.optim.SGD, lr=0.1, momentum=0.9)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        optimizer.load_state_dict(checkpoint)
        for p in net.parameters():
            optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p, device="meta")
        one_step(net, optimizer)

    finding = diagnosed(sick, "AG401", 'device="meta")', "momentum_buffer", "weight", severity="error")
    assert finding.locations


def test_step_counters_and_scalars():
    """CPU step counters, quantised codes and scalar statistics are where and what they should be."""

    class Factored(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.01})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["row"] = torch.zeros(p.shape[0], dtype=torch.float64)
                        state["scale"] = torch.zeros((), dtype=torch.float64)
                    state["row"] += p.grad.double().pow(2).reshape(p.shape[0], -1).mean(1)
                    state["scale"] = p.grad.abs().max().double()
                    p.sub_(group["lr"] * p.grad)

    def program():
        net = nn.Linear(4, 2)
        optimizer = Factored(net.parameters())
        for _ in range(2):
            one_step(net, optimizer)

    def bfloat16_with_wide_state():
        net = nn.Linear(4, 2).bfloat16()
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            one_step(net, optimizer, torch.bfloat16)

    calm(program, bfloat16_with_wide_state)


def test_wide_moments_lowered_by_a_load():
    """load_state_dict casts float32 moments of a bfloat16 model to bfloat16."""

    class Wide(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.01})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state.setdefault("mean", torch.zeros_like(p, dtype=torch.float32)).lerp_(p.grad.float(), 0.1)
                    p.sub_((group["lr"] * state["mean"]).to(p.dtype))

    def sick():
        net = nn.Linear(4, 2).bfloat16()
        first = Wide(net.parameters())
        one_step(net, first, torch.bfloat16)
        resumed = Wide(net.parameters())
        resumed.load_state_dict(first.state_dict())
        resumed.zero_grad()

    diagnosed(sick, "AG402", "resumed.load_state_dict", "mean", "bfloat16", severity="warning")


def test_wide_moments_loaded_into_a_narrow_model():
    """torch's own optimizers cannot step with wider state: one finding for all of it, and a fix that works."""

    def program(*, narrow=True, back=False):
        net, checkpoint = saved(torch.optim.AdamW)
        dtype = torch.bfloat16 if narrow else torch.float32
        net.to(dtype)
        if back:
            net.to(torch.float32)
        optimizer = torch.optim.AdamW(net.parameters())
        optimizer.load_state_dict(checkpoint)
        with torch.autocast("cpu", torch.bfloat16, enabled=back):
            loss = net(X if back else X.to(dtype)).float().pow(2).mean()
        trained(optimizer, loss)

    finding = diagnosed(
        program, "AG402", "optimizer.load_state_dict", "exp_avg", "exp_avg_sq", "bfloat16", severity="warning"
    )
    assert "net.to(torch.float32)" in finding.fix
    assert not [code for code in quoted(finding.fix) if ".state." in code]
    calm(lambda: program(narrow=False))
    converted_back = inspected(lambda: program(back=True)).findings
    assert {each.rule for each in converted_back} == {"AG417"}  # It has fewer bits for a while.


def test_momentum_that_may_stay_wide():
    """SGD does step with wider momentum: the statement of the fix brings it back."""

    def program(*, restored):
        net, checkpoint = saved(torch.optim.SGD, lr=0.1, momentum=0.9)
        net.bfloat16()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
        optimizer.load_state_dict(checkpoint)
        if restored:
            for s in optimizer.state.values():
                s.update({k: s[k].to(torch.float32) for k in ["momentum_buffer"]})
        one_step(net, optimizer, torch.bfloat16)

    finding = diagnosed(
        lambda: program(restored=False), "AG402", "optimizer.load_state_dict", severity="warning", where=program
    )
    assert "s.update({k: s[k].to(torch.float32) for k in ['momentum_buffer']})" in finding.fix
    program(restored=True)


class OwnMomentum(torch.optim.Optimizer):
    """A hand-written optimizer that interpolates."""

    def __init__(self, params):
        super().__init__(params, {})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["average"] = torch.zeros_like(p)
                state["average"].lerp_(p.grad, 0.1)
                p.sub_(state["average"], alpha=0.1)


def test_own_optimizer_that_raises_for_a_dtype():
    """What state a hand-written class keeps is its own matter, until its step raises for the dtype of that state."""

    def program(*, wide):
        net = nn.Linear(2, 1)
        optimizer = OwnMomentum(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).pow(2).mean().backward()
            optimizer.step()
            if wide:
                for state in optimizer.state.values():
                    state["average"] = state["average"].double()

    diagnosed(lambda: program(wide=True), "AG402", ".double()", "average", "float64", severity="error", where=program)
    calm(lambda: program(wide=False))
