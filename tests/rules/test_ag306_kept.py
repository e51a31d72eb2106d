"""AG306: gradients kept by reference, which the next backward changes in place."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 2, generator=torch.Generator().manual_seed(2))


def made():
    net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


def flat(tensors):
    return torch.cat([t.flatten() for t in tensors])


def gradients(net):
    return [p.grad for p in net.parameters()]


def test_task_gradients_collected_in_one_list():
    """The gradients of two losses in one list are the same tensors where zero_grad() does not let go of them."""

    def task_gradients(keep, set_to_none):
        net, optimizer = made()
        for _ in range(2):
            grads = []
            out = net(X)
            for k in range(2):
                optimizer.zero_grad(set_to_none=set_to_none)
                F.mse_loss(out[:, k], Y[:, k]).backward(retain_graph=True)
                grads.append([keep(p.grad) for p in net.parameters()])
            first, second = map(flat, grads)
            torch.nn.utils.vector_to_parameters(first + second, [p.grad for p in net.parameters()])
            optimizer.step()

    def by_key():
        net, optimizer = made()
        out, grads = net(X), {}
        for k, name in enumerate("ab"):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(out[:, k], Y[:, k]).backward(retain_graph=True)
            grads[name] = gradients(net)
        conflict = flat(grads["a"]) @ flat(grads["b"])
        optimizer.step()
        return conflict

    def in_place():
        net, optimizer = made()
        for _ in range(2):
            grads = []
            out = net(X)
            for k in range(2):
                optimizer.zero_grad(set_to_none=False)
                F.mse_loss(out[:, k], Y[:, k]).backward(retain_graph=True)
                grads.append([p.grad for p in net.parameters()])
            first, second = map(flat, grads)
            torch.nn.utils.vector_to_parameters(first + second, [p.grad for p in net.parameters()])
            optimizer.step()

    diagnosed(in_place, "AG306", "grads.append([p.grad", "grads", "0.weight", ".clone()", severity="warning")
    diagnosed(by_key, "AG306", "return [p.grad", "grads", "0.weight", severity="warning", where=gradients)
    calm(lambda: task_gradients(torch.clone, False), lambda: task_gradients(lambda g: g, True))


def test_old_gradient_beside_the_new_one():
    """What is kept of one backward is compared with the next one's, and both are one tensor."""

    def noise_scale():
        net, optimizer = made()
        for _ in range(2):
            optimizer.zero_grad()
            for k in range(2):
                F.mse_loss(net(X)[:, k], Y[:, k]).backward()
                if k == 0:
                    small = [p.grad for p in net.parameters()]
            sum((2 * s - p.grad).norm() for s, p in zip(small, net.parameters(), strict=True))
            optimizer.step()

    def similarity():
        net, optimizer = made()
        old = None
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X), Y).backward()
            if old is not None:
                F.cosine_similarity(old.flatten(), net[0].weight.grad.flatten(), dim=0)
            old = net[0].weight.grad
            optimizer.step()

    def renamed():
        net, optimizer = made()
        old = None
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X), Y).backward()
            new = gradients(net)
            if old is not None:
                sum((a * b).sum() for a, b in zip(old, new, strict=True))
            old = new
            optimizer.step()

    diagnosed(noise_scale, "AG306", "small = [p.grad", "small", "0.weight", "2.bias", severity="warning")
    diagnosed(similarity, "AG306", "old = net[0].weight.grad", "old", "0.weight", severity="warning")
    diagnosed(renamed, "AG306", "return [p.grad", "new", "0.weight", severity="warning", where=gradients)


def test_gradients_used_in_their_own_round():
    """Lists of gradients made anew for each step, logging, clipping and squares keep nothing that grows old."""

    def loop(use, **options):
        net, optimizer = made()
        for _ in range(4):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X), Y).backward()
            use(net)
            optimizer.step()

    def squares(net):
        for p in net.parameters():
            g = p.grad
            (g * g).sum().sqrt()

    def clipped(net):
        grads = []
        for p in net.parameters():
            if p.grad is not None:
                grads.append(p.grad)  # noqa: PERF401 - as programs write it
        total = torch.stack([g.norm() for g in grads]).norm()
        for g in grads:
            g.mul_((1 / total).clamp(max=1))

    def dot(xs, ys):
        return sum((x * y).sum() for x, y in zip(xs, ys, strict=True))

    def norm(net):
        g = gradients(net)
        return dot(g, g).sqrt()

    def gram(net):
        g = gradients(net)
        return torch.stack([(a.flatten()[:2] * b.flatten()[:2]).sum() for a in g for b in g])

    def normalised(net):
        named = {n: p.grad for n, p in net.named_parameters()}
        return {n: g / g.norm() - 0.1 * g.sign() for n, g in named.items()}

    def descended(net):
        for g in gradients(net):
            direction = g
            (g * direction).sum()

    def line_search(net):
        for p in net.parameters():
            gradient = p.grad
            direction = gradient
            slope = (gradient * direction).sum()
            p.data.sub_(0.01 * slope.sign() * direction)

    def logged(net):
        history.append({n: p.grad.norm().item() for n, p in net.named_parameters()})

    history = []
    uses = (squares, clipped, norm, gram, normalised, descended, line_search, logged)

    def all_in_one():
        net, optimizer = made()
        for _ in range(4):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X), Y).backward()
            grads = [p.grad for p in net.parameters()]
            vector = flat(grads)
            views = vector.split([g.numel() for g in grads])
            for g, v in zip(grads, views, strict=True):
                g.copy_(v.view_as(g) * 0.5)
            sum((a - b.view_as(a)).norm() for a, b in zip(grads, views, strict=True))
            optimizer.step()

    calm(*(lambda use=use: loop(use) for use in uses), all_in_one)


def test_references_meant_to_follow_the_gradient():
    """References made once, a flat buffer and the sum over micro-batches are the live gradient on purpose."""

    def made_once():
        net, optimizer = made()
        F.mse_loss(net(X), Y).backward()
        live = [p.grad for p in net.parameters()]
        for _ in range(3):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X), Y).backward()
            total = torch.stack([g.norm() for g in live]).norm()
            for g in live:
                g.div_(total)
            optimizer.step()

    def buffer():
        net, optimizer = made()
        memory = torch.zeros(sum(p.numel() for p in net.parameters()))
        for p, part in zip(net.parameters(), memory.split([p.numel() for p in net.parameters()]), strict=True):
            p.grad = part.view_as(p)
        parts = [p.grad for p in net.parameters()]
        for _ in range(3):
            memory.zero_()
            F.mse_loss(net(X), Y).backward()
            sum((a - p.grad).abs().sum() for a, p in zip(parts, net.parameters(), strict=True))
            optimizer.step()

    def micro_batches():
        net, optimizer = made()
        for _ in range(3):
            optimizer.zero_grad()
            latest = {}
            for k in range(2):
                F.mse_loss(net(X)[:, k], Y[:, k]).backward()
                for n, p in net.named_parameters():
                    latest[n] = p.grad
            torch.stack([g.norm() for g in latest.values()])
            optimizer.step()

    def one_micro_batch(count=1):
        net, optimizer = made()
        for _ in range(3):
            grads = []
            for k in range(count):
                optimizer.zero_grad(set_to_none=False)
                F.mse_loss(net(X)[:, k], Y[:, k]).backward()
                grads.append([p.grad for p in net.parameters()])
            flat(grads[0])
            optimizer.step()

    def emptied():
        net, optimizer = made()
        grads = []
        for k in (0, 1, 0):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(net(X)[:, k], Y[:, k]).backward()
            grads += [p.grad for p in net.parameters()]
            flat(grads)
            grads.clear()
            optimizer.step()

    calm(made_once, buffer, micro_batches, one_micro_batch, emptied)


def test_gradients_collected_by_an_inner_function():
    """The list grows in the loop that calls the function, unless the function empties it."""

    def sick():
        net, optimizer = made()
        out, grads = net(X), []

        def one(k):
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(out[:, k], Y[:, k]).backward(retain_graph=True)
            grads.append([p.grad for p in net.parameters()])

        for k in range(2):
            one(k)
        first, second = map(flat, grads)
        optimizer.step()
        return first @ second

    def emptied():
        net, optimizer = made()
        out, grads = net(X), []

        def one(k):
            grads.clear()
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(out[:, k], Y[:, k]).backward(retain_graph=True)
            grads.append([p.grad for p in net.parameters()])

        for k in range(2):
            one(k)
        first = flat(grads[0])
        optimizer.step()
        return first.norm()

    diagnosed(sick, "AG306", "grads.append", "grads", severity="warning")
    calm(emptied)


class Surgery:
    """Keeps the gradients of each task where no variable of the function is: in an attribute, by key, or returned."""

    def __init__(self, keep):
        self.keep, self.tasks = keep, {}

    def collect(self, net, optimizer, loss):
        optimizer.zero_grad(set_to_none=False)
        loss.backward(retain_graph=True)
        return [self.keep(p.grad) for p in net.parameters()]

    def run(self, use, turns=3):
        net, optimizer = made()
        for _ in range(turns):
            out = net(X)
            for k in range(2):
                self.tasks[k] = self.collect(net, optimizer, F.mse_loss(out[:, k], Y[:, k]))
            use(*self.tasks.values())
            optimizer.step()


def test_gradients_that_meet_themselves():
    """What was read, not used before the next backward, and put together twice was kept, wherever that was."""

    def joined(first, second):
        return flat(first) + flat(second)

    def one_by_one(first, second):
        return sum((old * new).sum() for old, new in zip(first, second, strict=True))

    def stacked(first, second):
        return torch.stack([flat(first).clone(), flat(second)]).mean(0)

    for use in (joined, one_by_one, stacked):
        diagnosed(
            lambda use=use: Surgery(lambda grad: grad).run(use),
            "AG306", "self.keep(p.grad)", ".grad.clone()", severity="warning", where=Surgery.collect,
        )  # fmt: skip
        calm(lambda use=use: Surgery(torch.clone).run(use))


def test_gradients_collected_twice_and_used_once():
    """A list made after each micro-batch is not used as two: the squares and the norm of the last one are right."""

    def used_last(first, second):
        squared = flat(second) @ flat(second)
        return [g / (squared.sqrt() + sum(g.norm() for g in second)) for g in second]

    calm(lambda: Surgery(lambda grad: grad).run(used_last))


def test_gradients_that_meet_themselves_in_a_call_that_takes_one_model_twice():
    """`surgery(net, net.losses(x))` hands on no gradient twice: what its names are called further in is what counts."""

    def store(kept, gradients):
        kept.append(gradients)

    def run(keep):
        def surgery(net, optimizer, losses):
            kept = []
            for loss in losses:
                optimizer.zero_grad(set_to_none=False)
                loss.backward(retain_graph=True)
                store(kept, [keep(p.grad) for p in net.parameters()])
            return [(a * b).sum() for a, b in zip(*kept, strict=True)]

        net, optimizer = made()
        for _ in range(2):
            surgery(net, optimizer, net.forward(X).mean(0))
            optimizer.step()

    diagnosed(lambda: run(lambda grad: grad), "AG306", "keep(p.grad)", ".grad.clone()", severity="warning", where=run)
    calm(lambda: run(torch.clone))
