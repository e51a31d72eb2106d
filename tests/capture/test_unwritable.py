"""Lines that Python parses and cannot write: they are shown as they are, and the recording goes on."""

import ast
import dis
import linecache

import pytest
import torch

import autograd_inspector
from autograd_inspector.advice.quoting import in_place, written_out
from autograd_inspector.capture.lines import sources
from autograd_inspector.model.program_events import RequiresGradCompared
from autograd_inspector.source.writing import written

BIG = "0x" + "f" * 4000
UNWRITABLE = {"an integer": BIG, "a no-break space": "f\"{'\u00a0'.join(names)}\""}


def run_of(text, filename="unwritable.py"):
    """The function ``run`` of a file with that text."""
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    names = {"torch": torch}
    exec(compile(text, filename, "exec"), names)
    return names["run"]


def captured(text):
    """The capture of ``run(w, names)``."""
    run, w = run_of(text), torch.ones(2, requires_grad=True)
    with autograd_inspector.inspect() as inspection:
        run(w, ["a", "b"])
    inspection.report.to_text()
    return inspection.report.capture


@pytest.mark.parametrize("part", UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_stops_nothing(part):
    """An expression over two lines, which is written on one line elsewhere."""
    capture = captured(
        f"def keep(x, label): return x.exp()\ndef run(w, names):\n    return keep(\n        w, {part})\n"
    )
    assert capture.stopped == ""
    (op,) = capture.ops
    assert [(place.lineno, place.source) for place in capture.site(op.site)[:2]] == [
        (1, "def keep(x, label): return x.exp()"),
        (3, "return keep("),
    ]


TARGETS = {
    "an entry": "    box = {}\n    box[PART] = w.exp()\n",
    "an attribute of one": "    box = {PART: torch.nn.Module()}\n    box[PART].result = torch.exp(w)\n",
    "an entry that grows": "    box = {PART: w.detach() * 1}\n    box[PART] += 1\n    return box.get(1), w.exp()\n",
    "an array": "    a = w.detach().numpy()\n    a[0 if PART else 1] = 3\n    return w.exp()\n",
    "a gradient that is kept": "    box = {PART: []}\n    w.exp().sum().backward()\n    box[PART].append(w.grad)\n",
    "an optimizer's state": (
        "    box = {PART: torch.optim.SGD([w])}\n    w.exp().sum().backward()\n    box[PART].state[1] = {}\n"
        "    box[PART].step()\n"
    ),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("part", UNWRITABLE.values(), ids=UNWRITABLE)
def test_neither_does_what_it_is_assigned_to(part, target):
    """Whoever reads the statement."""
    capture = captured(f"def run(w, names):\n{target.replace('PART', part)}")
    assert capture.stopped == ""
    assert "exp" in [op.name for op in capture.ops]


def test_the_code_of_a_function_is_read_past_its_constants():
    """A comparison that is dropped, and a Function's backward that uses no gradient, next to such a number."""
    text = (
        "class Blind(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, x):\n        return x * 1\n"
        f"    @staticmethod\n    def backward(ctx, gradient):\n        return torch.ones(2) * min(1, {BIG})\n"
        "def run(w, names):\n    w.requires_grad == True\n    Blind.apply(w).exp().sum().backward()\n"
        f"    return {BIG}\n"
    )
    capture = captured(text)
    assert capture.stopped == ""
    assert [event.wanted for event in capture.events if isinstance(event, RequiresGradCompared)] == [True]


def test_two_that_cannot_be_written_are_not_the_same():
    """No advice quotes a line that nobody can write."""
    part = UNWRITABLE["an integer"]
    assert written(ast.parse(part)) == ""
    assert in_place(f"w[{part}] = w[{part}1] - g") == ""
    assert in_place("w[1] = w[1] - g") == "w[1] -= g"
    assert written_out(f"w -= {part}") == ""


def test_an_explanation_that_fails_leaves_the_line(monkeypatch):
    """It is nobody's failure but ours, and of one line."""

    def failing(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(sources, "namespaces", failing)
    capture = captured("def run(w, names):\n    return w.exp()\n")
    assert capture.stopped == ""
    assert capture.site(capture.ops[0].site)[0].expression == "w.exp()"


def test_an_interrupt_is_no_failed_explanation(monkeypatch):
    """A timeout that strikes there is the program's."""
    monkeypatch.setattr(sources, "is_interrupt", lambda _: True)

    def struck(*_):
        raise TimeoutError

    monkeypatch.setattr(sources, "namespaces", struck)
    code = run_of("def run(w, names):\n    return w.exp()\n").__code__
    called = next(each.offset for each in dis.get_instructions(code) if each.opname == "CALL")
    with pytest.raises(TimeoutError):
        sources.locate(code, called, library=False)
