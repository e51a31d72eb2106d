"""AG305: a backward that was run for the gradient of an input leaves others in the parameters, which step."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, line_of, summary
from .twins import calm

SGD = torch.optim.SGD


def model():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))


def attacked(net, x, y, steps=3):
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        F.mse_loss(net(x), y).backward()  # Attack.
        x = x + 0.1 * x.grad.sign()
    return x.detach()


def adversarial(*, clears="before", steps=3, mode=False, rounds=3, to_none=True):
    net = model()
    optimizer = SGD(net.parameters(), lr=0.1)
    for _ in range(rounds):
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        if clears == "before":
            optimizer.zero_grad(set_to_none=to_none)
        if mode:
            net.eval()
        x = attacked(net, x, y, steps)
        if mode:
            net.train()
        if clears == "after":
            optimizer.zero_grad(set_to_none=to_none)
        loss = F.mse_loss(net(x), y)
        loss.backward()  # Own.
        optimizer.step()


@pytest.mark.parametrize("how", [{}, {"to_none": False}, {"rounds": 1}, {"rounds": 40}, {"mode": True, "steps": 1}])
def test_attack_left_in_the_weights(how):
    """Cleared before the attack and not after it; of one pass the mode tells that it was none of the training's."""
    finding = diagnosed(
        lambda: adversarial(**how), "AG305", "# Attack.", "zero_grad", "0.weight", "x",
        severity="warning", where=attacked,
    )  # fmt: skip
    assert "`optimizer.zero_grad" in finding.fix
    assert line_of(adversarial, "# Own.") in [place.lineno for place in finding.locations]


def test_attacks_that_are_cleared():
    """After them, in place or to None, in any mode."""
    calm(
        lambda: adversarial(clears="after"),
        lambda: adversarial(clears="after", to_none=False),
        lambda: adversarial(clears="after", mode=True, steps=1),
    )


def sampled(*, clears=False, rounds=3):
    energy = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(energy.parameters())
    for _ in range(rounds):
        optimizer.zero_grad()
        x = torch.randn(8, 2, requires_grad=True)
        for _ in range(4):
            energy(x).sum().backward()  # Sampler.
            x.data.add_(x.grad, alpha=-0.1)
            x.grad = None
        fake = x.detach()
        if clears:
            optimizer.zero_grad()
        (energy(torch.randn(8, 2)).mean() - energy(fake).mean()).backward()
        optimizer.step()


def test_sampler_left_in_the_weights():
    """Langevin steps that call backward(): the samples come from their gradients."""
    diagnosed(sampled, "AG305", "# Sampler.", "zero_grad", "0.weight", severity="warning")
    calm(lambda: sampled(clears=True))


def test_one_backward_that_serves_both():
    """Clean and perturbed inputs trained on together, the input's gradient a by-product: seen, and no alarm."""

    def both(*, weight):
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4, requires_grad=True), torch.rand(8, 1)
            optimizer.zero_grad()
            (weight * F.mse_loss(net(x), y)).backward()
            moved = (x + 0.1 * x.grad.sign()).detach()
            (weight * F.mse_loss(net(moved), y)).backward()
            optimizer.step()

    for program in (lambda: both(weight=1), lambda: both(weight=0.5)):
        calm(program)
        assert [f.severity for f in inspected(program).findings if f.rule == "AG305"] == ["info"], summary(
            inspected(program)
        )


def free_lb(*, last_outside=False, share=True):
    net = model()
    optimizer = SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        delta = torch.zeros_like(x, requires_grad=True)
        optimizer.zero_grad()
        for _ in range(3):
            loss = F.mse_loss(net(x + delta), y)
            (loss / 4 if share else loss).backward()
            delta = (delta + 0.1 * delta.grad.sign()).detach().requires_grad_(True)
        if last_outside:
            (F.mse_loss(net(x + delta.detach()), y) / 4).backward()
        optimizer.step()


def test_attack_steps_that_all_train():
    """FreeLB: the gradients of all attack steps are summed for one step, each a share, the last one outside or not."""
    calm(free_lb, lambda: free_lb(share=False), lambda: free_lb(last_outside=True))


def test_free_adversarial_training():
    """Each backward updates both, the perturbation and the weights."""

    def free():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        x, y = torch.randn(8, 4), torch.rand(8, 1)
        delta = torch.zeros_like(x, requires_grad=True)
        for _ in range(4):
            optimizer.zero_grad()
            F.mse_loss(net(x + delta), y).backward()
            delta.data.add_(0.1 * delta.grad.sign()).clamp_(-0.2, 0.2)
            delta.grad.zero_()
            optimizer.step()

    calm(free)


def test_gradients_of_inputs_that_are_only_looked_at():
    """A saliency that is logged of a training loss, of micro-batches, of one task of several."""

    def logged():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        log = []
        for _ in range(3):
            optimizer.zero_grad()
            for _ in range(2):
                x, y = torch.randn(8, 4, requires_grad=True), torch.rand(8, 1)
                F.mse_loss(net(x), y).backward()
                log.append(x.grad.abs().mean().item())
            optimizer.step()

    def tasks():
        body, one, two = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        optimizer = SGD([*body.parameters(), *one.parameters(), *two.parameters()], lr=0.1)
        log = []
        for _ in range(3):
            x, y = torch.randn(8, 4, requires_grad=True), torch.rand(8, 1)
            optimizer.zero_grad()
            F.mse_loss(one(body(x)), y).backward()
            log.append(x.grad.norm().item())
            F.l1_loss(two(body(x)), y).backward()
            optimizer.step()

    def saliency_then_cleared():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4, requires_grad=True), torch.rand(8, 1)
            net.eval()
            net(x).sum().backward()
            x.grad.abs()
            net.train()
            optimizer.zero_grad()
            F.mse_loss(net(x.detach()), y).backward()
            optimizer.step()

    calm(logged, tasks, saliency_then_cleared)


def test_split_learning():
    """The gradient of the activations goes back into the client as a gradient, not as data."""

    def split():
        client, server = nn.Linear(4, 8), nn.Linear(8, 1)
        optimizers = SGD(client.parameters(), lr=0.1), SGD(server.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.rand(8, 1)
            for optimizer in optimizers:
                optimizer.zero_grad()
            out = client(x)
            sent = out.detach().requires_grad_(True)
            F.mse_loss(server(sent), y).backward()
            out.backward(sent.grad)
            for optimizer in optimizers:
                optimizer.step()

    def of_several_heads():
        body, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
        optimizer = SGD([*body.parameters(), *heads.parameters()], lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.rand(8, 1)
            optimizer.zero_grad()
            out = body(x)
            sent = out.detach().requires_grad_(True)
            for head in heads:
                F.mse_loss(head(sent), y).backward()
            out.backward(sent.grad)
            optimizer.step()

    calm(split, of_several_heads)


def test_gradient_of_the_input_alone():
    """torch.autograd.grad, or parameters that are frozen for the attack."""

    def asked():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.rand(8, 1)
            optimizer.zero_grad()
            for _ in range(3):
                x = x.detach().requires_grad_(True)
                (g,) = torch.autograd.grad(F.mse_loss(net(x), y), x)
                x = x + 0.1 * g.sign()
            F.mse_loss(net(x.detach()), y).backward()
            optimizer.step()

    def frozen():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4), torch.rand(8, 1)
            optimizer.zero_grad()
            net.requires_grad_(False)
            x = attacked(net, x, y)
            net.requires_grad_(True)
            F.mse_loss(net(x), y).backward()
            optimizer.step()

    def inputs_named():
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            x, y = torch.randn(8, 4, requires_grad=True), torch.rand(8, 1)
            optimizer.zero_grad()
            for _ in range(3):
                F.mse_loss(net(x), y).backward(inputs=[x])
                x = (x + 0.1 * x.grad.sign()).detach().requires_grad_(True)
            F.mse_loss(net(x.detach()), y).backward()
            optimizer.step()

    calm(asked, frozen, inputs_named)


def test_slope_that_a_residual_reads_from_grad():
    """It is a constant for the loss, and the backward that made it leaves its own gradients in the parameters."""

    def residual(slope_of):
        net = model()
        optimizer = SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            x = torch.randn(8, 4, requires_grad=True)
            u = net(x)
            (slope_of(u, x).sum(1) + u.squeeze(1)).pow(2).mean().backward()
            optimizer.step()

    def read(u, x):
        u.sum().backward(retain_graph=True)  # Filled.
        return x.grad

    def asked(u, x):
        return torch.autograd.grad(u.sum(), x, create_graph=True)[0]

    found = diagnosed(
        lambda: residual(read), "AG305", "# Filled.", "for the gradient of", severity="warning", where=read
    )
    assert "create_graph=True" in found.fix
    calm(lambda: residual(asked))
