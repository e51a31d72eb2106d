"""AG102: computed while grad mode was off."""

from __future__ import annotations

import contextlib
import copy

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, silent, trained

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def two_parts():
    encoder, head = nn.Linear(4, 4), nn.Linear(4, 2)
    return encoder, head, torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)


def test_backbone_run_in_a_no_grad_block():
    """A backbone in the optimizer that only runs under no_grad does not learn; a frozen one may run there."""

    def sick():
        encoder, head, optimizer = two_parts()
        with torch.no_grad():
            features = encoder(X).relu()
        trained(optimizer, F.cross_entropy(head(features), Y))

    def healthy():
        encoder, head, _ = two_parts()
        optimizer = torch.optim.AdamW(head.parameters())
        encoder.requires_grad_(False)
        with torch.no_grad():
            features = encoder(X).relu()
        trained(optimizer, F.cross_entropy(head(features), Y))

    diagnosed(sick, "AG102", "with torch.no_grad():", "encoder.weight", "no_grad", severity="warning")
    silent(healthy)


def test_grad_mode_switched_off_by_an_evaluation_helper():
    """set_grad_enabled(False) outlives the helper that called it, unless the helper switches it back."""

    def forgetful(net):
        torch.set_grad_enabled(False)
        return (net(X).argmax(1) == Y).float().mean().item()

    def tidy(net):
        torch.set_grad_enabled(False)
        accuracy = (net(X).argmax(1) == Y).float().mean().item()
        torch.set_grad_enabled(True)
        return accuracy

    def epochs(evaluate):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(net(X), Y))
            evaluate(net)

    diagnosed(
        lambda: epochs(forgetful), "AG102", "set_grad_enabled(False)", "set_grad_enabled", "forgetful",
        severity="error", where=forgetful,
    )  # fmt: skip
    silent(lambda: epochs(tidy))


def test_grad_mode_that_an_exception_left_off():
    """An exception between the two switches leaves grad mode off; `with torch.no_grad()` would have restored it."""

    def broken_validation(net):
        torch.set_grad_enabled(False)
        net(torch.randn(2, 5))
        torch.set_grad_enabled(True)

    def sound_validation(net):
        with torch.no_grad():
            net(torch.randn(2, 5))

    def program(validate):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with contextlib.suppress(RuntimeError):
            validate(net)
        trained(optimizer, F.cross_entropy(net(X), Y))

    diagnosed(
        lambda: program(broken_validation), "AG102", "set_grad_enabled(False)", "set_grad_enabled", "weight",
        severity="error", where=broken_validation,
    )  # fmt: skip
    silent(lambda: program(sound_validation))


def test_phase_flag_the_wrong_way_round():
    """`with set_grad_enabled(phase == ...)`: training in the phase that disables it raises."""

    def phases(training):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for phase in ("train", "val"):
            with torch.set_grad_enabled(phase == training):
                loss = F.cross_entropy(net(X), Y)
                if phase == "train":
                    trained(optimizer, loss)

    def sick():
        phases("val")

    def healthy():
        phases("train")

    diagnosed(sick, "AG102", "set_grad_enabled(phase", "set_grad_enabled(False)", severity="error", where=phases)
    silent(healthy)


def test_generator_paused_inside_no_grad():
    """A generator that yields inside its no_grad block keeps grad mode off for whoever consumes it."""

    def leaking():
        with torch.no_grad():
            for shift in (0.0, 0.1):
                yield X + shift

    def contained():
        for shift in (0.0, 0.1):
            with torch.no_grad():
                batch = X + shift
            yield batch

    def program(batches):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for batch in batches():
            trained(optimizer, F.cross_entropy(net(batch), Y))

    diagnosed(
        lambda: program(leaking), "AG102", "with torch.no_grad():", "leaking", "generator",
        severity="error", where=leaking,
    )  # fmt: skip
    silent(lambda: program(contained))


def test_decorated_helper_in_the_training_path():
    """An `encode` under @torch.no_grad() is for inference; in the training forward it starves the encoder."""

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)

        def forward(self, x):
            return self.proj(x).tanh()

        @torch.no_grad()
        def encode(self, x):
            return self(x)

    def program(apply):
        encoder, head = Encoder(), nn.Linear(4, 2)
        optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
        trained(optimizer, F.cross_entropy(head(apply(encoder)), Y))
        return head(encoder.encode(X)).argmax(1)

    diagnosed(
        lambda: program(lambda encoder: encoder.encode(X)), "AG102", "@torch.no_grad()", "encode", "proj.weight",
        severity="warning", where=Encoder,
    )  # fmt: skip
    silent(lambda: program(lambda encoder: encoder(X)))


def test_teacher_and_student_in_one_block():
    """Only the teacher belongs under no_grad."""

    def sick():
        student = nn.Linear(4, 3)
        teacher = copy.deepcopy(student)
        optimizer = torch.optim.Adam(student.parameters())
        with torch.no_grad():
            target = teacher(X).softmax(-1)
            logits = student(X + 0.1)
        trained(optimizer, F.kl_div(logits.log_softmax(-1), target, reduction="batchmean"))

    def healthy():
        student = nn.Linear(4, 3)
        teacher = copy.deepcopy(student)
        optimizer = torch.optim.Adam(student.parameters())
        with torch.no_grad():
            target = teacher(X).softmax(-1)
        logits = student(X + 0.1)
        trained(optimizer, F.kl_div(logits.log_softmax(-1), target, reduction="batchmean"))
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.lerp_(fast, 0.01)

    finding = diagnosed(sick, "AG102", "with torch.no_grad():", "student.weight", severity="error")
    assert "teacher.weight" not in finding.subjects
    silent(healthy)


def test_a_view_made_in_a_no_grad_block():
    """It says that it requires grad, as its base does, and leads nowhere: what is computed from it is cut off."""

    def sick():
        encoder, head, optimizer = two_parts()
        hidden = encoder(X).relu()
        with torch.no_grad():
            hidden = hidden.view(-1, 4)
        trained(optimizer, F.cross_entropy(head(hidden), Y))

    def healthy():
        encoder, head, optimizer = two_parts()
        hidden = encoder(X).relu()
        with torch.no_grad():
            hidden.view(-1)[:2].norm()
            encoder.weight.view(-1).mul_(1.0)
        trained(optimizer, F.cross_entropy(head(hidden.contiguous()), Y))

    diagnosed(sick, "AG102", "with torch.no_grad():", "encoder.weight", "no_grad", severity="warning")
    silent(healthy)


def test_initialisation_through_an_alias_is_no_cut():
    """`weight.data.normal_()` in a constructor is not what keeps the weight from learning."""

    def sick():
        layer = nn.Linear(4, 2)
        nn.init.normal_(layer.weight.data)
        layer.bias.data[:1].fill_(0.1)
        with torch.no_grad():
            loss = F.cross_entropy(layer(X), Y)
        loss.backward()

    diagnosed(sick, "AG102", "with torch.no_grad():", "layer.weight", "no_grad", severity="error")


def test_second_derivatives_of_torch_func_in_a_block():
    """torch.func has no create_graph: its derivatives have a graph wherever grad mode is on."""
    field, offset = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)), nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.SGD([*field.parameters(), offset], lr=0.1)

    def penalised():
        x = torch.ones(2)
        with torch.no_grad():
            curvature = torch.func.hessian(lambda each: field(each).sum())(x).sum()
        trained(optimizer, (curvature - offset).pow(2))

    finding = diagnosed(penalised, "AG102", "with torch.no_grad():", "field", severity="warning")
    assert "create_graph" not in finding.fix
