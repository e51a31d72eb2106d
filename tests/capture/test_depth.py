"""Deep graphs: a report in seconds, and a program that lives on when the graph is dropped."""

import subprocess

import pytest

from tests.forked import INSPECTOR, python

PRELUDE = """
import gc, threading, tracemalloc
import torch
import autograd_inspector

def inspected(program):
    with autograd_inspector.inspect() as inspection:
        kept = program()
    return kept, inspection.report.capture

def x():
    return torch.ones(2, requires_grad=True)

steps = 100_000
"""

CHAIN = """
def program():
    y = x()
    for _ in range(steps):
        y = y * 1.0
    loss = y.sum()
    loss.backward()
    return loss
"""

SIDE_BRANCHES = """
def program():
    y, outputs = x(), []
    for _ in range(DEPTH):
        y = y * 1.0
        outputs.append(y.sum())
    return outputs
"""

STACKED_STATES = """
def program():
    y, states = x(), []
    for _ in range(DEPTH):
        y = y * 1.0
        states.append(y)
    loss = torch.stack(states).sum()
    loss.backward()
    return loss
"""

GROWING = """
def program():
    y = x()
    for step in range(DEPTH):
        y = y * 1.0
        if step % (DEPTH // 10) == DEPTH // 10 - 1:
            y.sum().backward(retain_graph=True)
    return y
"""

BACKWARDS_FROM_THE_TOP = """
def program():
    y, losses = x(), []
    for step in range(DEPTH):
        y = y * 1.0
        if step % (DEPTH // 10) == DEPTH // 10 - 1:
            losses.append(y.sum())
    for loss in reversed(losses):
        loss.backward(retain_graph=True)
    return losses
"""

KEPT_WITHOUT_BACKWARD = """
def program():
    y, everything = x(), []
    for _ in range(DEPTH):
        y = y * 1.0
        everything.append(y)
    raise_later.append(everything)
    raise KeyError
raise_later = []
def inspected(program):
    inspection = autograd_inspector.inspect()
    try:
        with inspection:
            program()
    except KeyError:
        pass
    return raise_later.pop(), inspection.report.capture
"""

DEPTH = 23_000
"""More than enough to overflow the stack of a thread that is half of the usual, where each node frees the next."""

DROP = """
def main():
    kept, capture = inspected(program)
    print("nodes", max(len(capture.graph_of(run).nodes) for run in capture.backwards))
    del kept
    print("alive")

threading.stack_size(8 * 2**20 // 2)
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


def run(*parts):
    """The standard output of a Python process of its own; a crash is a failure."""
    source = "\n".join([PRELUDE, f"DEPTH = {DEPTH}", *parts])
    done = subprocess.run([*python(INSPECTOR), "-c", source], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.split()


PROGRAMS = {
    "branches": SIDE_BRANCHES,
    "stacked": STACKED_STATES,
    "growing": GROWING,
    "from the top": BACKWARDS_FROM_THE_TOP,
    "kept": KEPT_WITHOUT_BACKWARD,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_process_survives_dropping_a_deep_graph(program):
    """However a graph is reached, no path of it is met deeper than is safe: freeing it does not overflow the stack."""
    assert run(PROGRAMS[program], DROP)[-1] == "alive"


def test_a_loop_of_a_hundred_thousand_ops_in_a_thread():
    """All ops are in the report, the walk says that it stopped, and the thread lives on when the graph is dropped.

    Below the end of the walk each op stands in for its nodes, and the leaf below all of them is there.
    """
    out = run(
        CHAIN,
        """
def main():
    kept, capture = inspected(program)
    graph = capture.graph_of(capture.backwards[0])
    del kept
    walked = sum(node.met for node in graph.nodes)
    print(len(capture.ops), walked, graph.truncated, len(graph.nodes), "alive")

thread = threading.Thread(target=main)
thread.start()
thread.join()
""",
    )
    assert out[0] == "100002"
    assert 1_000 < int(out[1]) < 20_000
    assert out[2:] == ["True", "100002", "alive"]


def test_the_memory_of_a_large_report():
    """Under a kilobyte an op is kept, inspection and report together."""
    out = run(
        CHAIN,
        """
steps = 20_000
inspected(x)
gc.collect()
tracemalloc.start()
inspection = autograd_inspector.inspect()
with inspection:
    kept = program()
del kept
gc.collect()
print(tracemalloc.get_traced_memory()[0] / len(inspection.report.capture.ops))
""",
    )
    assert float(out[0]) < 1_000
