"""AG406: parameters that are frozen between forward and backward, and rows that are to stay as they are."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def test_parts_that_take_turns_in_one_forward():
    """What is switched off for the sake of the other part gets no gradient; behind backward() it may be."""

    def program(*, early):
        parts = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 2)])
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)

        def use(chosen):
            for part in parts:
                part.requires_grad_(part is chosen or not early)  # switched
            return chosen(X)

        for _ in range(2):
            trained(optimizer, (use(parts[0]) - use(parts[1])).pow(2).mean())

    finding = diagnosed(
        lambda: program(early=True), "AG406", "# switched", "0.weight", severity="warning", where=program
    )
    assert "1.weight" not in finding.message
    calm(lambda: program(early=False))


def test_models_that_have_a_turn_of_their_own():
    """A discriminator that is frozen late for the generator's step gets its gradient in its own."""

    def program():
        maker, judge = nn.Linear(4, 4), nn.Linear(4, 1)
        both = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (maker, judge)]
        for _ in range(2):
            loss = judge(maker(X)).mean()
            judge.requires_grad_(False)
            trained(both[0], loss)
            judge.requires_grad_(True)
            trained(both[1], judge(maker(X).detach()).pow(2).mean())

    calm(program)


def test_rows_without_gradient_under_weight_decay():
    """AdamW shrinks the rows that were to stay; without decay, or written back, or at zero, they stay."""

    def program(*, decay=0.01, back=False, zero=False):
        table = nn.Embedding(6, 4)
        keep = torch.arange(6) < 5
        if zero:
            table.weight.data[keep] = 0
        old = table.weight.detach().clone()
        optimizer = torch.optim.AdamW(table.parameters(), lr=0.1, weight_decay=decay)  # decays
        for _ in range(2):
            optimizer.zero_grad()
            table(torch.arange(6)).sub(1).pow(2).mean().backward()
            table.weight.grad[keep] = 0
            optimizer.step()
            if back:
                with torch.no_grad():
                    table.weight[keep] = old[keep]

    diagnosed(program, "AG406", "# decays", "weight_decay", severity="warning", where=program)
    calm(lambda: program(decay=0.0), lambda: program(back=True), lambda: program(zero=True))


def test_rows_that_a_hook_masks_under_weight_decay():
    """A hook multiplies the gradient by a mask; a factor, or a hook that only looks, sets nothing to zero."""

    def program(hook, *, decay=0.01, padding=None):
        table = nn.Embedding(6, 4, padding_idx=padding)
        mask = torch.zeros(6, 1)
        mask[4:] = 1
        table.weight.register_hook(lambda gradient: hook(gradient, mask))
        optimizer = torch.optim.AdamW(table.parameters(), lr=0.1, weight_decay=decay)  # decays
        for _ in range(2):
            trained(optimizer, table(torch.arange(6)).sub(1).pow(2).mean())

    seen = []

    def masked(gradient, mask):
        return gradient * mask

    def masked_by_truth_values(gradient, _):
        return gradient * (torch.arange(6).unsqueeze(1) >= 4)

    def scaled(gradient, _):
        return gradient * torch.linspace(0.5, 1, 6).unsqueeze(1)

    def looks(gradient, mask):
        seen.append((gradient * mask).sum())

    for hook in (masked, masked_by_truth_values):
        diagnosed(
            lambda hook=hook: program(hook), "AG406", "# decays", "weight_decay", severity="warning", where=program
        )
    calm(
        lambda: program(masked, decay=0.0),
        lambda: program(masked, padding=0),
        lambda: program(scaled),
        lambda: program(looks),
    )
