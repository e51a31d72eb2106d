"""AG201: a tensor saved for backward was modified in place, through itself or what shares its memory."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, quoted, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def one_step(forward, width=4):
    net = nn.Linear(4, width)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    trained(optimizer, forward(net).pow(2).mean())


def test_results_that_their_own_derivative_needs():
    """exp, sigmoid, tanh, softmax and sqrt keep their result: editing it in place spoils backward."""

    def exponential(net):
        weights = net(X).exp()
        weights *= 2.0
        return weights

    def gate(net):
        gate = net(X).sigmoid()
        gate.clamp_(0.1, 0.9)
        return gate

    def attention(net):
        scores = net(X).softmax(dim=-1)
        scores.masked_fill_(scores < 0.1, 0.0)
        return scores

    def root(net):
        norm = net(X).abs().sqrt()
        norm.add_(1e-6)
        return norm

    for program, line, op in (
        (exponential, "weights *= 2.0", "weights"),
        (gate, "gate.clamp_(", "clamp_"),
        (attention, "masked_fill_", "masked_fill_"),
        (root, "norm.add_(1e-6)", "add_"),
    ):
        diagnosed(lambda program=program: one_step(program), "AG201", line, op, severity="error", where=program)

    def healthy(net):
        shifted = net(X)
        shifted += 1.0
        shifted.mul_(0.5)
        return shifted.relu_().exp()

    silent(lambda: one_step(healthy))


def test_residual_added_in_place():
    """`x += f(x)` spoils an f that saved x; where f saved another tensor it is fine."""

    def residual(net):
        x = net(X)
        x += x.tanh() * x
        return x

    def normed(net):
        x = net(X)
        x += F.layer_norm(X, (4,)) @ net.weight
        return x

    diagnosed(lambda: one_step(residual), "AG201", "x += x.tanh() * x", "x", severity="error", where=residual)
    silent(lambda: one_step(normed))


def test_fix_of_a_line_with_a_comment():
    """The fix quotes the statement, not what is written beside it."""

    def sick():
        hidden = nn.Linear(4, 4)(torch.randn(8, 4)).sigmoid()
        hidden *= 0.5  # seldom
        hidden.sum().backward()

    fix = diagnosed(sick, "AG201", "hidden *= 0.5", "hidden", severity="error").fix
    assert quoted(fix) == ["hidden = hidden * 0.5", "hidden *= 0.5"]


def test_recurrent_state_written_in_place():
    """A state tensor filled step by step is saved by each step that reads it."""

    def filled(net):
        states = torch.zeros(5, 4)
        for t in range(4):
            states[t + 1] = torch.tanh(net(states[t]) + X[t])
        return states

    def stacked(net):
        state, states = torch.zeros(4), []
        for t in range(4):
            state = torch.tanh(net(state) + X[t])
            states.append(state)
        return torch.stack(states)

    finding = diagnosed(
        lambda: one_step(filled), "AG201", "states[t + 1] = ", "states", "__setitem__", severity="error", where=filled
    )
    assert "clone" in finding.fix
    silent(lambda: one_step(stacked))


def test_view_written_in_place():
    """Writing through a chunk, a transpose or a row of what was saved bumps the base's counter."""

    def chunked(net):
        hidden = net(X).sigmoid()
        left, right = hidden[:, :2], hidden[:, 2:]
        left.mul_(right.detach())
        return hidden

    def transposed(net):
        hidden = net(X).exp()
        columns = hidden.t()
        columns[0] = 1.0
        return hidden

    diagnosed(lambda: one_step(chunked), "AG201", "left.mul_(", "hidden", "mul_", severity="error", where=chunked)
    diagnosed(lambda: one_step(transposed), "AG201", "columns[0] = 1.0", "hidden", severity="error", where=transposed)

    def copied(net):
        hidden = net(X).sigmoid()
        left, right = hidden[:, :2].clone(), hidden[:, 2:]
        left.mul_(right.detach())
        return torch.cat([left, right], dim=1)

    silent(lambda: one_step(copied))


def test_detached_alias_rescaled():
    """`.detach()` shares memory and version counter; a `.clone()` shares neither."""

    def shown(net, prepare):
        picture = torch.tanh(net(X))
        image = prepare(picture)
        image.add_(1).mul_(127.5)
        return picture

    diagnosed(
        lambda: one_step(lambda net: shown(net, lambda p: p.detach())), "AG201", "image.add_(1).mul_(127.5)", "picture",
        "detach", severity="error", where=shown,
    )  # fmt: skip
    silent(lambda: one_step(lambda net: shown(net, lambda p: p.detach().clone())))


def test_inplace_modules_after_what_they_overwrite():
    """An in-place activation may follow a linear layer or a norm, not another one that keeps its result."""

    def program(*layers):
        net = nn.Sequential(nn.Linear(4, 8), *layers, nn.Linear(8, 2))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, F.cross_entropy(net(X), Y))

    finding = diagnosed(
        lambda: program(nn.Sigmoid(), nn.ReLU(inplace=True)), "AG201", "F.cross_entropy(net(X), Y)", "inplace=True",
        severity="error", where=program,
    )  # fmt: skip
    assert "inplace=False" in finding.fix
    silent(
        lambda: program(nn.ReLU(inplace=True)),
        lambda: program(nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Dropout(0.1)),
        lambda: program(nn.LeakyReLU(0.1, inplace=True)),
    )


def test_dropout_mask_edited():
    """A hand-made mask is saved by the product that uses it."""

    def masked(net, after):
        mask = (torch.rand(8, 4) > 0.2).float()
        hidden = net(X) * mask
        after(mask)
        return hidden

    def reused(mask):
        mask.bernoulli_(0.5)

    diagnosed(
        lambda: one_step(lambda net: masked(net, reused)), "AG201", "bernoulli_(0.5)", "mask", severity="error",
        where=reused,
    )  # fmt: skip
    silent(lambda: one_step(lambda net: masked(net, lambda mask: mask.sum())))


def test_a_result_with_a_version_counter_of_its_own():
    """What `.data` shares its memory with has another counter: the writes that count are those through the alias."""

    def sick():
        weight = torch.linspace(-0.6, 0.9, 3).requires_grad_()
        hidden = weight.data
        hidden.add_(weight)
        hidden.tanh_()
        hidden += 1.0  # the fault
        hidden.sum().backward()

    diagnosed(sick, "AG201", "hidden += 1.0", "hidden", severity="error")


def test_view_of_a_buffer_that_the_next_round_writes_to():
    """The line that takes the view is among the places; a copy there is enough."""

    def decoder(net, *, copied):
        outputs, step = torch.zeros(3, 8, 4), X
        for t in range(3):
            outputs[t] = net(step)  # Written.
            step = outputs[t]  # Taken.
            if copied:
                step = step.clone()
        return outputs

    program = lambda copied=False: one_step(lambda net: decoder(net, copied=copied))  # noqa: E731
    finding = diagnosed(program, "AG201", "# Written.", "step", severity="error", where=decoder)
    assert any("# Taken." in place.source for place in finding.locations)
    (edit,) = finding.edits
    assert edit.text.endswith("outputs[t].clone()")
    silent(lambda: program(copied=True))
