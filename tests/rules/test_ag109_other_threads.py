"""AG109 of teachers that a thread pool calls, where grad mode is on; and calls in threads of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def distil(targets: Callable[..., torch.Tensor], also: bool = False, steps: int = 3) -> None:
    """A student and two teachers in one optimizer; the teachers may have a loss of their own."""
    student = nn.Linear(4, 2)
    teachers = nn.ModuleList(nn.Linear(4, 2) for _ in range(2))
    optimizer = torch.optim.SGD([*student.parameters(), *teachers.parameters()], lr=0.1)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(steps):
            own = sum(t(X).pow(2).mean() for t in teachers) if also else 0
            trained(optimizer, (student(X) - targets(teachers, pool)).pow(2).mean() + own)


def around_the_pool(teachers, pool):
    with torch.no_grad():
        outputs = list(pool.map(lambda teacher: teacher(X), teachers))
    return torch.stack(outputs).mean(0)


def by_the_models(teachers, pool):
    """No function of the program's runs in the other thread."""
    with torch.no_grad():
        futures = [pool.submit(teacher, X) for teacher in teachers]
        outputs = [future.result() for future in futures]
    return torch.stack(outputs).mean(0)


@torch.no_grad()
def alone(teacher):
    return teacher(X)


def within_the_pool(teachers, pool):
    return torch.stack(list(pool.map(alone, teachers))).mean(0)


def with_their_graphs(teachers, pool):
    """Grad mode is on in both threads: the teachers are to learn."""
    return torch.stack(list(pool.map(lambda teacher: teacher(X), teachers))).mean(0)


def detached(teachers, pool):
    with torch.no_grad():
        outputs = list(pool.map(lambda teacher: teacher(X).detach(), teachers))
    return torch.stack(outputs).mean(0)


def test_no_grad_around_a_pool_that_calls_the_teachers():
    """The line of the call, or of the wait where the pool calls the models themselves."""
    diagnosed(
        lambda: distil(around_the_pool), "AG109", "pool.map", "another thread", "torch.no_grad()",
        severity="warning", where=around_the_pool,
    )  # fmt: skip
    (finding,) = alarms(inspected(lambda: distil(by_the_models)))
    assert finding.rule == "AG109"
    assert finding.locations[0].function.startswith("by_the_models")


def test_calls_in_other_threads_that_serve_are_not_told():
    """no_grad in the threads, no graph in what they return, teachers that learn in the pool or beside it."""
    for program in (
        lambda: distil(within_the_pool),
        lambda: distil(within_the_pool, steps=60),
        lambda: distil(with_their_graphs),
        lambda: distil(detached),
        lambda: distil(detached, also=True),
    ):
        report = inspected(program)
        assert not report.capture.error, summary(report)
        assert not alarms(report), summary(report)


def test_a_model_that_another_thread_trains():
    """The capture's own thread looks without gradients meanwhile; each backward is its own thread's."""

    def program():
        net, own = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD([*net.parameters(), *own.parameters()], lr=0.1)
        for _ in range(3):
            with torch.no_grad():
                worker = Thread(target=lambda: net(X).pow(2).mean().backward())
                worker.start()
                worker.join()
            trained(optimizer, own(X).pow(2).mean())

    report = inspected(program)
    assert not alarms(report), summary(report)
