"""AG202: a saved tensor was modified and no version counter moved: the gradients are silently wrong."""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, inspected, silent, trained
from .twins import calm

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


def test_numpy_batch_refilled():
    """from_numpy shares the array's memory: the next batch must not be written before backward."""

    def refilled():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        buffer = np.ones((8, 4), dtype="float32")
        x = torch.from_numpy(buffer)
        loss = net(x).pow(2).mean()
        buffer[:] = 2.0
        trained(optimizer, loss)

    def in_order():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        buffer = np.ones((8, 4), dtype="float32")
        for scale in (1.0, 2.0):
            x = torch.from_numpy(buffer)
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            buffer[:] = scale

    def copied():
        net = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        buffer = np.ones((8, 4), dtype="float32")
        x = torch.tensor(buffer)
        loss = net(x).pow(2).mean()
        buffer[:] = 2.0
        trained(optimizer, loss)

    diagnosed(refilled, "AG202", "buffer[:] = 2.0", "x", "NumPy", severity="warning")
    silent(in_order, copied)


def test_result_of_an_inplace_op_on_a_view():
    """What an in-place op on a view saves is out of sight in its CopySlices node, and found all the same."""

    def program(last):
        scale = nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([scale], lr=0.1)
        hidden = X[0] * scale
        hidden[:2].tanh_()
        loss = hidden.sum()
        last(hidden)
        trained(optimizer, loss)

    def zeroed(hidden):
        hidden.data.zero_()

    def elsewhere(hidden):
        hidden.data[2:].zero_()

    diagnosed(lambda: program(zeroed), "AG202", "hidden.data.zero_()", "tanh_", severity="error", where=zeroed)
    silent(lambda: program(elsewhere))


def test_a_list_written_at_once():
    """What a foreach op modifies is a list: the advice copies each tensor in it, and that works."""
    w = torch.randn(3, requires_grad=True)

    def comprehension(*, copied):
        made = [torch.exp(w), torch.sigmoid(w)]
        if copied:
            torch._foreach_mul_([t.data.clone() for t in made], 0.5)
        else:
            torch._foreach_mul_([t.data for t in made], 0.5)
        sum(t.sum() for t in made).backward()

    def written_out():
        a, b = torch.exp(w), torch.sigmoid(w)
        torch._foreach_mul_([a.data, b.data], 0.5)
        (a + b).sum().backward()

    def named():
        a, b = torch.exp(w), torch.sigmoid(w)
        both = [a.data, b.data]
        torch._foreach_mul_(both, 0.5)
        (a + b).sum().backward()

    def called():
        made = {"a": torch.exp(w), "b": torch.sigmoid(w)}
        torch._foreach_mul_([t.data for t in made.values()], 0.5)
        sum(t.sum() for t in made.values()).backward()

    def once():
        comprehension(copied=False)

    for program, fix, where in (
        (once, "`[t.data.clone() for t in made]`", comprehension),
        (written_out, "`[a.data.clone(), b.data.clone()]`", written_out),
        (named, "`[t.clone() for t in both]`", named),
        (called, "`.clone()` of each tensor", called),
    ):
        culprit = "torch._foreach_mul_([t.data for t in made], 0.5)" if program is once else "torch._foreach_mul_"
        found = diagnosed(program, "AG202", culprit, severity="error", where=where)
        assert fix in found.fix, found.fix
    calm(lambda: comprehension(copied=True))


class Switched(torch.autograd.Function):
    """Passes a gradient back only while it is switched on."""

    on = True

    @staticmethod
    def forward(ctx, first, second):
        return first * second

    @staticmethod
    def backward(ctx, grad):
        return grad if Switched.on else None, grad


def beside_a_none(*runs, both=False):
    """What `exp` saved is modified; a Function leads to it, that is on or off in each run through the graph."""

    def program():
        net = nn.Linear(4, 4)
        hidden = net(X).exp()
        hidden.data.mul_(2)
        loss = Switched.apply(hidden, net(X)).sum() + (hidden.sum() if both else 0)
        for Switched.on in runs:
            loss.backward(retain_graph=True)

    return program


def test_what_no_gradient_comes_to():
    """What a node saved is not read where its gradient is None; another way to the loss, or another run, brings one."""
    assert "AG202" not in {finding.rule for finding in inspected(beside_a_none(False)).findings}
    for program in (
        beside_a_none(False, both=True),
        beside_a_none(True),
        beside_a_none(False, True),
        beside_a_none(True, False),
    ):
        assert "AG202" in {finding.rule for finding in inspected(program).findings}
