"""AG305: clipping, loss scaling, and who steps when."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair(lr=0.05, kind=torch.optim.SGD):
    net = nn.Linear(4, 1)
    return net, kind(net.parameters(), lr=lr)


def test_a_limit_of_zero():
    """Every gradient becomes zero; a limit that is a tensor is not known."""

    def trained(limit, clip):
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            clip(net.parameters(), limit)
            optimizer.step()

    def off_by_norm():
        trained(0.0, nn.utils.clip_grad_norm_)

    def off_by_value():
        trained(0, nn.utils.clip_grad_value_)

    diagnosed(
        off_by_norm,
        "AG305",
        "clip(net.parameters(), limit)",
        "weight",
        "bias",
        "limit of 0",
        severity="warning",
        where=trained,
    )
    diagnosed(
        off_by_value,
        "AG305",
        "clip(net.parameters(), limit)",
        "weight",
        "bias",
        "limit of 0",
        severity="warning",
        where=trained,
    )
    calm(lambda: trained(0.5, nn.utils.clip_grad_norm_))
    calm(lambda: trained(torch.tensor(0.0), nn.utils.clip_grad_norm_))


def test_clipping_after_steps_in_hooks():
    """Each gradient was used, and cleared, while backward() ran."""

    def program(*, early):
        net = nn.Linear(4, 1)
        optimizers = {p: torch.optim.SGD([p], lr=0.05) for p in net.parameters()}

        def stepped(p):
            if early:
                nn.utils.clip_grad_norm_([p], 0.01)
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(stepped)
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            if not early:
                nn.utils.clip_grad_norm_(net.parameters(), 0.02)

    diagnosed(
        lambda: program(early=False), "AG305", "net.parameters(), 0.02", "weight", "after step() used them",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program(early=True))


def test_clipping_after_the_step():
    """Clipping has to come between backward and step."""

    def late():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(net.parameters(), 0.01)

    def early():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            nn.utils.clip_grad_norm_(net.parameters(), 0.01)
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def healthy():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.01)
            optimizer.step()

    def measured_and_rounded():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0).item()
            optimizer.step()
            after = nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
        return norm, after

    def by_value():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.01)
            optimizer.step()

    diagnosed(late, "AG305", "clip_grad_norm_", "clip", severity="warning")
    diagnosed(early, "AG305", "clip_grad_norm_", "clip", severity="warning")
    calm(healthy, by_value, measured_and_rounded)


def test_clipping_an_exhausted_generator():
    """`params = net.parameters()` is used up by the optimizer: clipping then clips nothing."""

    def program(gather):
        net = nn.Linear(4, 1)
        params = gather(net.parameters())
        optimizer = torch.optim.SGD(params, lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_norm_(params, 0.01)
            optimizer.step()

    diagnosed(lambda: program(iter), "AG305", "clip_grad_norm_", "clip", severity="warning", where=program)
    calm(lambda: program(list))


def kept_for_clipping(parameters):
    """Clipping is given the same object in each round."""
    net, head = nn.Linear(4, 4), nn.Linear(4, 1)
    params = parameters(net)  # Kept.
    optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(head(net(X)), Y).backward()
        nn.utils.clip_grad_norm_(params, 0.01)
        optimizer.step()


def test_clipping_exhausts_a_generator():
    """The first round clips and the others do not; the line that made the generator is told. A group may be empty."""
    finding = diagnosed(
        lambda: kept_for_clipping(lambda net: net.parameters()), "AG305", "clip_grad_norm_", "net.weight", "# Kept.",
        severity="warning", where=kept_for_clipping,
    )  # fmt: skip
    assert "exhausted" in finding.message

    def by_group():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": []}], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            for group in optimizer.param_groups:
                nn.utils.clip_grad_norm_(group["params"], 0.01)
            optimizer.step()

    def frozen_later():
        net, head = nn.Linear(4, 4), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for i in range(4):
            net.requires_grad_(i < 2)
            optimizer.zero_grad()
            F.mse_loss(head(net(X)), Y).backward()
            nn.utils.clip_grad_norm_([p for p in net.parameters() if p.requires_grad], 0.01)
            optimizer.step()

    calm(lambda: kept_for_clipping(lambda net: list(net.parameters())), by_group, frozen_later)


def test_scaled_gradients_clipped_before_unscale():
    """With a GradScaler, unscale_ has to come before clipping."""

    def program(*, unscale):
        net, optimizer = pair()
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(net(X), Y)).backward()
            if unscale:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    diagnosed(lambda: program(unscale=False), "AG305", "clip_grad_norm_", "unscale_", severity="warning", where=program)
    calm(lambda: program(unscale=True))


def test_scaled_gradients_clipped_by_hand():
    """What multiplies gradients by a factor of their own norm clips them; a mask, or a constant, does not."""

    def clipped(net):
        total = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
        for p in net.parameters():
            p.grad.mul_(torch.clamp(1.0 / (total + 1e-6), max=1.0))  # clip

    def masked(net):
        for p in net.parameters():
            p.grad.mul_((p.detach() > 0).float())
            p.grad.mul_(0.5)

    def program(change, *, unscale):
        net, optimizer = pair()
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(net(X), Y)).backward()
            if unscale:
                scaler.unscale_(optimizer)
            change(net)
            scaler.step(optimizer)
            scaler.update()

    diagnosed(lambda: program(clipped, unscale=False), "AG305", "# clip", "unscale_", severity="warning", where=clipped)
    calm(lambda: program(clipped, unscale=True), lambda: program(masked, unscale=False))


def test_scaled_loss_with_a_plain_step():
    """scaler.scale(loss) needs scaler.step(optimizer): optimizer.step() uses gradients of the scaled loss."""

    def healthy():
        net, optimizer = pair(lr=1e-6)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(net(X), Y)).backward()
            scaler.step(optimizer)
            scaler.update()

    def forgotten():
        net, optimizer = pair(lr=1e-6)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(F.mse_loss(net(X), Y)).backward()
            optimizer.step()

    diagnosed(forgotten, "AG305", "optimizer.step()", "scale", severity="error")
    calm(healthy)


def test_closures_and_line_search():
    """LBFGS runs its closure inside step; that is not a missing backward."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)

    def simple():
        net, optimizer = pair()

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            return loss

        for _ in range(2):
            optimizer.step(closure)

    calm(program, simple)


def test_optimizer_inside_backward():
    """Hooks that step and clear each parameter while backward runs need no step in the loop."""

    def program():
        net = nn.Linear(4, 1)
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

        def step(p):
            optimizers[p].step()
            optimizers[p].zero_grad()

        for p in net.parameters():
            p.register_post_accumulate_grad_hook(step)
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()

    calm(program)


def test_one_backward_for_two_optimizers():
    """Two optimizers may share one backward; each may step at its own pace."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        slow, fast = torch.optim.SGD(net[0].parameters(), lr=0.01), torch.optim.SGD(net[1].parameters(), lr=0.1)
        for _ in range(3):
            slow.zero_grad()
            fast.zero_grad()
            F.mse_loss(net(X), Y).backward()
            slow.step()
            fast.step()

    calm(program)


def test_clipped_and_never_stepped():
    """Clipping alone uses no gradient: a loop that clips and clears has no step. The norm alone is a use."""

    def clipped():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)

    def measured():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            print(float(nn.utils.clip_grad_norm_(net.parameters(), float("inf"))))

    diagnosed(clipped, "AG305", ".backward()", "weight", severity="warning")
    calm(measured)


def test_gradients_of_an_optimizer_of_a_copy():
    """What the optimizer has is clipped: that it has a copy of the model is the one fault."""

    def program():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(copy.deepcopy(net).parameters(), lr=0.1)  # A copy.
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).sum().backward()
            nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
            optimizer.step()

    diagnosed(program, "AG404", "A copy.", "weight", severity="warning")


def test_gradients_that_were_copied_before_they_are_clipped():
    """Master weights: the copies that the optimizer steps with are not clipped; clipping those, or before, is right."""

    def trained(clip_first=False, clip_masters=False):
        net = nn.Linear(4, 1).bfloat16()
        masters = [p.detach().float().requires_grad_() for p in net.parameters()]
        optimizer = torch.optim.SGD(masters, lr=0.1)
        for _ in range(2):
            net.zero_grad()
            net(torch.ones(3, 4, dtype=torch.bfloat16)).sum().backward()
            if clip_first:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            for p, m in zip(net.parameters(), masters, strict=True):
                m.grad = p.grad.float()
            if not clip_first:
                nn.utils.clip_grad_norm_(masters if clip_masters else list(net.parameters()), 1.0)  # Late.
            optimizer.step()
            with torch.no_grad():
                for p, m in zip(net.parameters(), masters, strict=True):
                    p.copy_(m)

    finding = diagnosed(trained, "AG305", "# Late.", "after they were copied", "weight", severity="warning")
    assert [place.role for place in finding.locations if "copied" in place.role]
    calm(lambda: trained(clip_first=True), lambda: trained(clip_masters=True))
