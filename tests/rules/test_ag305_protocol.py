"""AG305: zero_grad, backward, clip and step."""

from __future__ import annotations

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


def test_gradients_never_cleared():
    """Without zero_grad gradients add up from step to step; zero_grad anywhere between two steps is enough."""

    def sick():
        net, optimizer = pair()
        for _ in range(3):
            loss = F.mse_loss(net(X), Y)
            loss.backward()
            optimizer.step()

    def at_the_end():
        net, optimizer = pair()
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    def through_the_model():
        net, optimizer = pair()
        for _ in range(3):
            net.zero_grad()
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def by_hand():
        net, optimizer = pair()
        for _ in range(3):
            for p in net.parameters():
                p.grad = None
            F.mse_loss(net(X), Y).backward()
            optimizer.step()

    def in_place():
        net, optimizer = pair()
        for _ in range(3):
            F.mse_loss(net(X), Y).backward()
            optimizer.step()
            for p in net.parameters():
                p.grad.zero_()

    diagnosed(sick, "AG305", "loss.backward()", "weight", "zero_grad", severity="warning")
    calm(at_the_end, through_the_model, by_hand, in_place)


def test_accumulation_over_micro_batches():
    """Several backwards for one step are accumulation; never clearing afterwards is not."""

    def healthy():
        net, optimizer = pair()
        for step in range(4):
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()

    def sick():
        net, optimizer = pair()
        for step in range(4):
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()

    def cleared_each_time():
        net, optimizer = pair()
        for step in range(4):
            optimizer.zero_grad()
            (F.mse_loss(net(X), Y) / 2).backward()
            if step % 2:
                optimizer.step()

    diagnosed(sick, "AG305", ").backward()", "weight", severity="warning")
    diagnosed(cleared_each_time, "AG305", "optimizer.zero_grad()", "zero_grad", severity="warning")
    calm(healthy)


def test_zero_grad_of_the_other_optimizer():
    """Two optimizers, and zero_grad of the wrong one in the second half."""

    def program(second):
        left, left_optimizer = pair()
        right, right_optimizer = pair()
        for _ in range(3):
            left_optimizer.zero_grad()
            F.mse_loss(left(X), Y).backward()
            left_optimizer.step()
            (right_optimizer if second == "right" else left_optimizer).zero_grad()
            F.mse_loss(right(X), Y).backward()
            right_optimizer.step()

    diagnosed(
        lambda: program("left"), "AG305", "F.mse_loss(right(X), Y).backward()", "right.weight",
        severity="warning", where=program,
    )  # fmt: skip
    calm(lambda: program("right"))


def test_cleared_between_backward_and_step():
    """zero_grad between backward and step leaves the step nothing, kept or freed."""

    def program(**how):
        net, optimizer = pair(kind=torch.optim.Adam)
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            optimizer.zero_grad(**how)
            optimizer.step()

    def by_model():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            net.zero_grad()
            optimizer.step()

    def by_hand():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            for p in net.parameters():
                p.grad = None
            optimizer.step()

    def zeroed():
        net, optimizer = pair()
        for _ in range(2):
            F.mse_loss(net(X), Y).backward()
            for p in net.parameters():
                p.grad.zero_()
            optimizer.step()

    diagnosed(program, "AG305", "optimizer.zero_grad(**how)", "zero_grad", "step", severity="warning")
    diagnosed(
        lambda: program(set_to_none=False), "AG305", "optimizer.zero_grad(**how)", severity="warning", where=program
    )
    diagnosed(by_model, "AG305", "net.zero_grad()", "weight", severity="warning")
    diagnosed(by_hand, "AG305", "p.grad = None", "weight", severity="warning")
    diagnosed(zeroed, "AG305", "p.grad.zero_()", "weight", severity="warning")


def test_no_backward_at_all():
    """A step without backward does nothing."""

    def forgotten():
        net, optimizer = pair()
        for _ in range(2):
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            optimizer.step()
        return loss

    def step_first():
        net, optimizer = pair()
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.mse_loss(net(X), Y)
            optimizer.step()
            loss.backward()

    def one_of_two():
        net, optimizer = pair()
        other, idle = pair()
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(net(X), Y).backward()
            forgotten = F.mse_loss(other(X), Y)
            optimizer.step()
            idle.step()
        return forgotten

    diagnosed(forgotten, "AG305", "optimizer.step()", "backward", severity="warning")
    diagnosed(step_first, "AG305", "optimizer.step()", "backward", severity="warning")
    diagnosed(one_of_two, "AG305", "idle.step()", "other.weight", severity="warning", besides=("AG301",))


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
