"""AG305: what is done after each of several backwards that belong to one step: clipping, clearing, unscaling."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn.utils import clip_grad_norm_

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def test_clipped_after_each_backward():
    """The sum so far is clipped each time; once before the step, or each batch with its own step, is right."""

    def program(*, each, every=3):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for number in range(6):
            net(X).pow(2).mean().backward()
            last = number % every == every - 1
            if each or last:
                clip_grad_norm_(net.parameters(), 0.1)  # clipped
            if last:
                optimizer.step()
                optimizer.zero_grad()

    diagnosed(lambda: program(each=True), "AG305", "# clipped", "net.weight", severity="warning", where=program)
    calm(lambda: program(each=False), lambda: program(each=True, every=1))


def test_cleared_at_the_head_of_an_accumulation():
    """accelerate lets zero_grad() through for the last micro-batch alone; behind the step it clears what was used."""

    def program(*, first):
        accelerator = Accelerator(gradient_accumulation_steps=3, cpu=True)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net, optimizer = accelerator.prepare(net, optimizer)
        for _ in range(6):
            with accelerator.accumulate(net):
                if first:
                    optimizer.zero_grad()  # cleared
                accelerator.backward(net(X).pow(2).mean())
                optimizer.step()
                if not first:
                    optimizer.zero_grad()

    diagnosed(lambda: program(first=True), "AG305", "# cleared", "net.weight", severity="warning", where=program)
    calm(lambda: program(first=False))


def test_loss_past_the_scaler():
    """Its gradients are divided by a scale that they never had; scaled by hand with the same number they had it."""

    def program(backward):
        net, head = nn.Linear(4, 1), nn.Linear(4, 1)
        both = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (net, head)]
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        for _ in range(2):
            scaler.scale(net(X).pow(2).mean()).backward()
            backward(scaler, head(X).pow(2).mean())
            for optimizer in both:
                scaler.step(optimizer)
                optimizer.zero_grad()
            scaler.update()

    def past(scaler, loss):
        loss.backward()  # not scaled

    def by_hand(scaler, loss):
        (loss * scaler.get_scale()).backward()

    def summed(scaler, loss):
        (scaler.scale(loss) + 0.0).backward()

    diagnosed(lambda: program(past), "AG305", "# not scaled", "head.weight", severity="warning", where=past)
    calm(lambda: program(by_hand), lambda: program(summed))
