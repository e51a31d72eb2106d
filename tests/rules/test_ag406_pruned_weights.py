"""AG406: weights that a mask sets to zero, and that the following steps move."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import prune

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.randn(8, 3, generator=torch.Generator().manual_seed(2))


def steps(net, optimizer, number=2, after=lambda: None):
    for _ in range(number):
        trained(optimizer, (net(X) - Y).pow(2).mean())
        after()


def largest(weight, share=0.5):
    """The mask of the larger half of a weight."""
    size = weight.detach().abs()
    return (size > size.flatten().kthvalue(int(share * size.numel())).values).float()


def made(kind=torch.optim.SGD, **options):
    net = nn.Linear(4, 3)
    return net, kind(net.parameters(), lr=0.1, **options)


def test_mask_is_applied_once():
    """In place, as a product that is assigned, or by an index: the next steps update what it had set to zero."""

    def in_place():
        net, optimizer = made()
        steps(net, optimizer, 1)
        with torch.no_grad():
            net.weight.mul_(largest(net.weight))
        steps(net, optimizer)

    def assigned():
        net, optimizer = made(torch.optim.Adam)
        mask = largest(net.weight).bool()
        net.weight.data = net.weight.data * mask
        steps(net, optimizer)

    def copied():
        net, optimizer = made(torch.optim.RMSprop)
        mask = torch.zeros_like(net.weight)
        mask.view(-1)[net.weight.detach().abs().flatten().topk(6).indices] = 1
        with torch.no_grad():
            net.weight.copy_(net.weight * mask)
        steps(net, optimizer)

    def by_index():
        net, optimizer = made()
        net.weight.data[net.weight.data.abs() < 0.2] = 0
        steps(net, optimizer)

    for program, culprit in (
        (in_place, "net.weight.mul_"),
        (assigned, "net.weight.data ="),
        (copied, "net.weight.copy_"),
        (by_index, "< 0.2"),
    ):
        finding = diagnosed(program, "AG406", culprit, "net.weight", "2 steps", severity="warning")
        assert "nothing applies the mask again" in finding.message
        assert "net.bias" not in finding.subjects


def test_pruning_made_permanent_before_the_training():
    """`prune.remove()` drops the mask: the steps behind it update the pruned weights."""

    def program():
        net = nn.Linear(4, 3)
        prune.l1_unstructured(net, "weight", amount=0.5)
        prune.remove(net, "weight")
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))

    diagnosed(program, "AG406", "prune.remove", "net.weight", severity="warning")


def test_averages_of_earlier_gradients_move_pruned_weights():
    """The gradient is masked too, but the optimizer has averages of those from before."""

    def program(kind, **options):
        net, optimizer = made(kind, **options)
        steps(net, optimizer, 1)
        mask = largest(net.weight)
        with torch.no_grad():
            net.weight.mul_(mask)
        net.weight.register_hook(lambda gradient: gradient * mask)
        steps(net, optimizer)

    for key, kind, options in (
        ("exp_avg", torch.optim.Adam, {}),
        ("momentum_buffer", torch.optim.SGD, {"momentum": 0.9}),
    ):
        finding = diagnosed(
            lambda kind=kind, options=options: program(kind, **options),
            "AG406", ".mul_(mask)", "net.weight", key, severity="warning", where=program,
        )  # fmt: skip
        assert f'optimizer.state[p]["{key}"].mul_(mask)' in finding.fix
    calm(lambda: program(torch.optim.SGD), lambda: program(torch.optim.RMSprop))


def test_mask_that_is_kept():
    """It is applied after each step, by the program or a hook, in the forward, or to gradients and state."""

    def after_each_step():
        net, optimizer = made(torch.optim.Adam)
        mask = largest(net.weight)

        @torch.no_grad()
        def apply():
            net.weight.mul_(mask)

        apply()
        steps(net, optimizer, after=apply)

    def anew_after_each_step():
        net, optimizer = made(torch.optim.SGD, momentum=0.9)

        def apply():
            net.weight.data *= largest(net.weight)

        apply()
        steps(net, optimizer, after=apply)

    def in_a_hook_of_the_step():
        net, optimizer = made()
        mask = largest(net.weight)
        net.weight.data.mul_(mask)
        optimizer.register_step_post_hook(lambda *_: net.weight.data.mul_(mask))
        steps(net, optimizer)

    def before_each_forward():
        net, optimizer = made()
        mask = largest(net.weight)
        net.weight.data.mul_(mask)

        def apply(module, _):
            module.weight.data.mul_(mask)

        net.register_forward_pre_hook(apply)
        steps(net, optimizer)

    def in_an_optimizer_of_its_own():
        class Masked(torch.optim.SGD):
            @torch.no_grad()
            def step(self, closure=None):
                super().step(closure)
                net.weight.mul_(mask)

        net = nn.Linear(4, 3)
        mask = largest(net.weight)
        net.weight.data.mul_(mask)
        steps(net, Masked(net.parameters(), lr=0.1))

    def in_the_forward():
        class MaskedLinear(nn.Linear):
            def forward(self, x):
                return nn.functional.linear(x, self.weight * self.mask, self.bias)

        net = MaskedLinear(4, 3)
        net.mask = largest(net.weight)
        net.weight.data.mul_(net.mask)
        steps(net, torch.optim.Adam(net.parameters(), lr=0.1))

    def left_to_torch():
        net = nn.Linear(4, 3)
        prune.l1_unstructured(net, "weight", amount=0.5)
        steps(net, torch.optim.SGD(net.parameters(), lr=0.1))
        prune.remove(net, "weight")

    def gradients_of_a_new_optimizer():
        net, optimizer = made(torch.optim.Adam)
        steps(net, optimizer, 1)
        mask = largest(net.weight)
        net.weight.data.mul_(mask)
        net.weight.register_hook(lambda gradient: gradient * mask)
        steps(net, torch.optim.Adam(net.parameters(), lr=0.1))

    def state_as_well():
        net, optimizer = made(torch.optim.Adam)
        steps(net, optimizer, 1)
        mask = largest(net.weight)
        net.weight.data.mul_(mask)
        optimizer.state[net.weight]["exp_avg"].mul_(mask)
        net.weight.register_hook(lambda gradient: gradient * mask)
        steps(net, optimizer)

    def gradients_in_place():
        net, optimizer = made()
        mask = largest(net.weight)
        net.weight.data.mul_(mask)
        for _ in range(2):
            optimizer.zero_grad()
            (net(X) - Y).pow(2).mean().backward()
            net.weight.grad.mul_(mask)
            optimizer.step()

    calm(
        after_each_step, anew_after_each_step, in_a_hook_of_the_step, before_each_forward, in_an_optimizer_of_its_own,
        in_the_forward, left_to_torch, gradients_of_a_new_optimizer, state_as_well, gradients_in_place,
    )  # fmt: skip


def test_zeros_that_are_not_to_stay():
    """A start that is sparse at random or not negative, weights that are written back, pruning after the last step."""

    def at_random():
        net, optimizer = made()
        net.weight.data.mul_(torch.rand(3, 4) > 0.5)
        steps(net, optimizer)

    def not_negative():
        net, optimizer = made()
        net.weight.data.mul_(net.weight.data > 0)
        steps(net, optimizer)

    def tried_out():
        net, optimizer = made()
        kept = net.weight.detach().clone()
        net.weight.data.mul_(largest(net.weight))
        (net(X) - Y).pow(2).mean().item()
        net.weight.data.copy_(kept)
        steps(net, optimizer)

    def at_the_end():
        net, optimizer = made()
        steps(net, optimizer)
        net.weight.data.mul_(largest(net.weight))

    def frozen():
        net, optimizer = made()
        net.weight.data.mul_(largest(net.weight))
        net.weight.requires_grad_(False)
        steps(net, optimizer)

    def scaled():
        net, optimizer = made()
        net.weight.data.mul_(0.1 / net.weight.data.abs().mean())
        steps(net, optimizer)

    calm(at_random, not_negative, tried_out, at_the_end, frozen, scaled)
