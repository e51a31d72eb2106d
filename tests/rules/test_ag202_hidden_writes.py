"""AG202 without any visible write: fused steps, running statistics, recomputation under checkpointing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


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


def test_norm_called_again_by_the_same_forward():
    """The line of the forward saved the statistics and moved them: the culprit is who called it the second time."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

        def forward(self, x):
            return self.norm(self.linear(x))

    def program(late):
        net = Encoder()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net.eval()
        loss = net(X).pow(2).mean()
        net.train()
        if late:
            trained(optimizer, loss)
        with torch.no_grad():
            net(X * 10)
        if not late:
            trained(optimizer, loss)

    diagnosed(lambda: program(late=False), "AG202", "net(X * 10)", "running_var", severity="error", where=program)
    silent(lambda: program(late=True))


def test_tensor_kept_on_ctx():
    """An attribute of ctx is not checked by autograd; editing it is fine after backward, or if backward ignores it."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor, ctx.size = factor, x
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    def program(edit, late):
        net, factor = nn.Linear(4, 4), torch.ones(4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        hidden = net(X)
        loss = Scale.apply(hidden, factor).sum()
        if not late:
            edit(factor, hidden)
        trained(optimizer, loss)
        if late:
            edit(factor, hidden)

    def rescaled(factor, _):
        factor.mul_(5.0)

    def unread(_, hidden):
        with torch.no_grad():
            hidden.zero_()

    diagnosed(
        lambda: program(rescaled, late=False), "AG202", "factor.mul_(5.0)", "factor", "ctx.factor", "save_for_backward",
        severity="warning", where=rescaled,
    )  # fmt: skip
    silent(lambda: program(rescaled, late=True), lambda: program(unread, late=False))


def test_square_in_place_inside_a_checkpoint():
    """`x *= x` modifies the factor that it saves itself: eager autograd raises, recomputation does not notice."""

    def squared(x):
        y = x.sin()
        y *= y
        return y * y.cos()

    def sined(x):
        y = x * 2.0
        y.sin_()
        y.add_(1.0)
        return y * 2.0

    def program(block):
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, checkpoint(block, net(X), use_reentrant=False).mean())

    diagnosed(lambda: program(squared), "AG202", "y *= y", severity="error", where=squared)
    silent(lambda: program(sined))
