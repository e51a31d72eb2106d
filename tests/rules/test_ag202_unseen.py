"""AG202: a saved tensor was modified and no version counter moved: the gradients are silently wrong."""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def one_step(forward):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, forward(net).pow(2).mean())


def test_activation_rescaled_through_data():
    """`h.data.div_()` changes what backward needs; a new tensor does not."""

    def normalised(net):
        hidden = net(X)
        loss = hidden.pow(2)
        hidden.data.div_(hidden.norm(dim=1, keepdim=True))
        return loss

    def divided(net):
        hidden = net(X)
        loss = hidden.pow(2)
        (hidden / hidden.norm(dim=1, keepdim=True)).data.mul_(2)
        return loss

    diagnosed(
        lambda: one_step(normalised), "AG202", "hidden.data.div_", "hidden", "div_", severity="error", where=normalised
    )
    silent(lambda: one_step(divided))


def test_data_edited_before_it_is_saved():
    """A write through `.data` is harmless before the tensor is saved, or where nothing saves it."""

    def early(net):
        hidden = net(X)
        hidden.data.clamp_(-1, 1)
        return hidden.exp()

    def unsaved(net):
        hidden = net(X)
        shifted = hidden + 1
        hidden.data.zero_()
        return shifted

    silent(lambda: one_step(early), lambda: one_step(unsaved))


def test_weights_clamped_through_data():
    """WGAN's clamp through `.data` between forward and backward; after the step it is right."""

    def program(clamp_first):
        critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.RMSprop(critic.parameters())
        for _ in range(2):
            loss = critic(X).mean() - critic(X + 1).mean()
            if clamp_first:
                for p in critic.parameters():
                    p.data.clamp_(-0.01, 0.01)
            trained(optimizer, loss)
            if not clamp_first:
                for parameter in critic.parameters():
                    parameter.data.clamp_(-0.01, 0.01)

    diagnosed(
        lambda: program(clamp_first=True), "AG202", "p.data.clamp_(-0.01, 0.01)", "2.weight", "clamp_",
        severity="error", where=program,
    )  # fmt: skip
    silent(lambda: program(clamp_first=False))


def test_parameter_data_assigned():
    """Swapping in averaged weights by `.data =` between forward and backward."""

    def program(swap_late):
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        ema = copy.deepcopy(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def swap():
            for parameter, average in zip(net.parameters(), ema.parameters(), strict=True):
                parameter.data.copy_(average.data * 0.5)

        loss = F.cross_entropy(net(X), Y)
        if not swap_late:
            swap()
        trained(optimizer, loss)
        if swap_late:
            swap()

    diagnosed(
        lambda: program(swap_late=False), "AG202", "parameter.data.copy_", "2.weight", severity="error", where=program
    )
    silent(lambda: program(swap_late=True))


def test_numpy_alias_written():
    """A NumPy array made by `.detach().numpy()` shares memory with the tensor; a copy does not."""

    def clipped(net):
        hidden = net(X).tanh()
        array = hidden.detach().numpy()
        np.clip(array, -0.5, 0.5, out=array)
        return hidden

    def indexed(net):
        hidden = net(X).exp()
        array = hidden.detach().numpy()
        array[array > 2.0] = 2.0
        return hidden

    def copied(net):
        hidden = net(X).tanh()
        array = hidden.detach().numpy().copy()
        array *= 0.5
        return hidden

    def read(net):
        hidden = net(X).tanh()
        array = hidden.detach().numpy()
        scaled = array * 2
        return hidden * float(scaled.mean() > -10)

    diagnosed(lambda: one_step(clipped), "AG202", "np.clip(", "hidden", "NumPy", severity="warning", where=clipped)
    diagnosed(lambda: one_step(indexed), "AG202", "array[array > 2.0]", "hidden", severity="warning", where=indexed)
    silent(lambda: one_step(copied), lambda: one_step(read))


def test_fused_step_between_forward_and_backward():
    """A fused step bumps no version: the second loss is differentiated at other weights than it was computed with."""

    def program(sequential, fused):
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, fused=fused)
        if sequential:
            trained(optimizer, F.cross_entropy(net(X), Y))
            trained(optimizer, F.cross_entropy(net(-X), Y))
        else:
            first, second = F.cross_entropy(net(X), Y), F.cross_entropy(net(-X), Y)
            first.backward()
            optimizer.step()
            second.backward()

    diagnosed(
        lambda: program(sequential=False, fused=True), "AG202", "            optimizer.step()", "2.weight", "fused",
        severity="error", where=program,
    )  # fmt: skip
    silent(lambda: program(sequential=True, fused=True), lambda: program(sequential=True, fused=False))


def test_running_statistics_moved_between_forward_and_backward():
    """An eval-mode batch norm saves its running statistics; a training forward moves them unseen."""

    def program(adapt_late):
        net, norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        optimizer = torch.optim.SGD([*net.parameters(), *norm.parameters()], lr=0.1)
        norm.eval()
        loss = norm(net(X)).pow(2).mean()
        norm.train()
        if adapt_late:
            trained(optimizer, loss)
        norm(torch.randn(8, 4) * 5)
        if not adapt_late:
            trained(optimizer, loss)

    diagnosed(
        lambda: program(adapt_late=False), "AG202", "norm(torch.randn(8, 4) * 5)", "running_mean", severity="error",
        where=program,
    )  # fmt: skip
    silent(lambda: program(adapt_late=True))


def test_two_training_forwards_of_a_batch_norm():
    """In training mode backward uses the batch's own statistics: further forwards are harmless."""

    def healthy():
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            real, fake = net(X), net(X * 2)
            trained(optimizer, real.mean() - fake.mean())

    silent(healthy)


def test_mask_edited_before_a_checkpoint_computes_again():
    """Recomputation reads what is outside the checkpoint as it is by then."""

    def program(edit_late, reentrant):
        net, mask = nn.Linear(4, 4), torch.ones(8, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def block(x):
            return (net(x) * mask).tanh()

        x = X.clone().requires_grad_()
        loss = checkpoint(block, x, use_reentrant=reentrant).pow(2).mean()
        if not edit_late:
            mask[:, 0] = 0.0
        trained(optimizer, loss)
        if edit_late:
            mask[:, 0] = 0

    for reentrant in (True, False):
        diagnosed(
            lambda reentrant=reentrant: program(False, reentrant), "AG202", "mask[:, 0] = 0.0", "mask", "checkpoint",
            severity="error", where=program,
        )  # fmt: skip
        silent(lambda reentrant=reentrant: program(True, reentrant))
