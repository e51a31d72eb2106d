"""Every report that is written can be read back, and is equal then."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct, inspect
from msgspec.structs import replace
from torch import nn

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.api.report import ReportFormatError, report_of
from autograd_inspector.frontends.cli.main import main
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.views.archive import encode, storable

from .reports import KINDS, report


def is_read_back(given):
    """Equal in every field, and everything that is made of it is the same and can be written into a file."""
    text = given.to_json()
    text.encode("utf-8")
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    read = type(given).from_json(text)
    assert read == given
    assert type(given).from_json(read.to_json()) == given
    assert type(given).from_json(text.encode()) == given
    for made in (given.to_text, given.to_html):
        made().encode("utf-8")
    assert read.to_text() == given.to_text()
    return read


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_every_kind(kind):
    """One step, read values, an exception, folded steps, exchanges, a checkpoint, several ranks, nothing at all."""
    is_read_back(report(kind))


def test_an_optimizer_made_anew_for_each_step():
    """Those of steps that are folded away are gone; that they stepped stays known."""
    weight, x = nn.Parameter(torch.ones(3)), torch.ones(3)
    with autograd_inspector.inspect() as inspection:
        for _ in range(60):
            optimizer = torch.optim.AdamW([weight], lr=0.01)
            (x * weight).sum().backward()
            optimizer.step()
    read = is_read_back(inspection.report)
    assert read.history.steps == 60
    assert (-1,) in read.history.stepping


def test_infinities_and_nan():
    """In learning rates and in the ranges of values: each is read as what it was."""
    read = is_read_back(report("not finite"))
    rates = read.capture.steps[0].rates
    assert rates[0] == math.inf
    assert math.isnan(rates[1])
    assert any(
        math.isnan(bound) for fault in read.capture.value_faults for r in fault.outputs for bound in (r.low, r.high)
    )
    assert replace(read, ignored=1) != read


def test_infinities_and_nan_that_an_op_was_given():
    """The factors by which a program scales a gradient may be any numbers: a division by a count of zero."""
    weight = nn.Parameter(torch.ones(2))
    with autograd_inspector.inspect() as inspection:
        weight.sum().backward()
        weight.grad.mul_(math.inf)
        weight.grad.mul_(math.nan)
        weight.grad.mul_(0.5)
    read = is_read_back(inspection.report)
    numbers = [number for given in read.capture.given.values() for number in given.values()]
    assert numbers[0] == math.inf
    assert math.isnan(numbers[1])
    assert numbers[2] == 0.5


RATES = {"huge": 10**400, "-huge": -(10**400), "2**70": 2**70, "True": True, "float64": np.float64("nan")}


@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
def test_any_learning_rate(rate):
    """Also one that no float can hold, which the optimizer takes."""
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with autograd_inspector.inspect() as inspection:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
    assert not inspection.report.capture.stopped
    is_read_back(inspection.report)


def test_sizes_beyond_64_bits():
    """On meta a tensor may be larger than any memory."""
    with autograd_inspector.inspect() as inspection:
        weight = torch.empty(1, device="meta", requires_grad=True)
        weight.expand(2**31, 2**29).double().sum().backward()
    is_read_back(inspection.report)
    given = report("healthy")
    tensors = tuple(replace(tensor, nbytes=2**70) for tensor in given.capture.tensors)
    is_read_back(replace(given, capture=replace(given.capture, tensors=tensors)))


HOSTILE = ["lone \ud800 surrogate", "caf\udce9", "nul\0byte", "x" * 10_000, '"\\/\b\f', "</script>", "null", "inf", "1"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_a_program(name):
    """In names of modules and parameters, file names, source lines, exceptions, optimizer settings."""
    net = nn.Sequential()
    net.register_module(name.replace(".", ""), nn.Linear(2, 2))
    optimizer = torch.optim.SGD([{"params": net.parameters(), "note": name, name: name}], lr=0.1)
    program = compile("net(x).sum().backward()\noptimizer.step()\nraise ValueError(name)", "train.py", "exec")
    program = program.replace(co_filename=name)
    with pytest.raises(ValueError), autograd_inspector.inspect() as inspection:
        exec(program, {"net": net, "x": torch.ones(1, 2), "optimizer": optimizer, "name": name})
    given = inspection.report
    assert not given.capture.stopped
    read = is_read_back(given)
    spelled = name.encode("utf-8", "backslashreplace").decode()
    assert read.capture.error.startswith(f"ValueError: {spelled[:900]}")
    place = Location(name, 1, name, source=name, role=name)
    finding = Finding("AG101", name, "error", name, name, (place,), (name,), (name,), consequences=(name,))
    assert Report.from_json(replace(given, findings=(finding,)).to_json()).findings[0].message == spelled


def test_names_that_are_no_plain_strings():
    """``numpy.str_`` and other subclasses, also where they spell themselves otherwise."""

    class Odd(str):
        __slots__ = ()

        def __str__(self):
            return "another"

    net = nn.Module()
    net.register_parameter(np.str_("a"), nn.Parameter(torch.ones(1)))
    net.register_parameter(Odd("b"), nn.Parameter(torch.ones(1)))
    optimizer = torch.optim.SGD([{"params": list(net.parameters()), Odd("key"): Odd("value")}], lr=np.float64(1))
    with autograd_inspector.inspect() as inspection:
        (net.a + net.b).sum().backward()
        optimizer.step()
    read = is_read_back(inspection.report)
    assert [row.name for row in read.placement.rows] == ["net.a", "net.b"]


def test_what_rules_conclude_is_free_of_surrogates_too():
    """A capture is made storable before anything is concluded from it."""
    made = report_of(Capture(error="\ud800", notes=("\udfff",)))
    assert (made.capture.error, made.notes) == ("\\ud800", ("\\udfff",))
    assert storable(made) is made


def test_show_and_merge_take_what_was_written(tmp_path, capsys):
    """`show --text`, `show --html` and `merge`, of a report with all of that."""
    given = report("not finite")
    path = tmp_path / "r.json"
    path.write_text(replace(given, notes=tuple(HOSTILE)).to_json(), "utf-8")
    assert main(["show", "--text", str(path)]) == 0
    assert main(["show", "--html", str(tmp_path / "r.html"), str(path)]) == 0
    assert main(["merge", "--json", str(tmp_path / "all.json"), str(path), str(path)]) in {0, 121}
    assert main(["show", "--text", str(tmp_path / "all.json")]) == 0
    capsys.readouterr()


def test_other_texts_for_numbers_are_refused():
    """The text "inf" is a number where a number with a fraction is expected, and nowhere else."""
    data = json.loads(report("not finite").to_json())
    data["ignored"] = "inf"
    with pytest.raises(ReportFormatError):
        Report.from_json(json.dumps(data))


SMALL = {kind: report(kind) for kind in ("graph", "checkpoint", "not finite")}
TEXTS = st.text(st.characters(), max_size=8) | st.sampled_from(HOSTILE)
FLOATS = st.floats(allow_nan=True, allow_infinity=True)


def refilled(value, described, draw):
    """The same record with other texts and numbers with a fraction wherever there may be any."""
    match described:
        case inspect.StrType():
            return draw(TEXTS) if draw(st.booleans()) else value
        case inspect.FloatType():
            return draw(FLOATS)
        case inspect.StructType(fields=fields):
            return replace(value, **{f.name: refilled(getattr(value, f.name), f.type, draw) for f in fields})
        case inspect.VarTupleType(item_type=item):
            return tuple(refilled(each, item, draw) for each in value)
        case inspect.UnionType(types=kinds) if isinstance(value, Struct):
            return refilled(value, next(k for k in kinds if isinstance(k, inspect.StructType)), draw)
    return value


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(sorted(SMALL)))
def test_any_texts_and_numbers(data, kind):
    """Whatever a program's names, messages, values and learning rates are."""
    filled = storable(refilled(SMALL[kind], inspect.type_info(Report), data.draw))
    assert Report.from_json(filled.to_json()) == filled


def test_encoding_looks_only_through_what_can_hold_a_fraction(monkeypatch):
    """The ops of a long capture are not looked at one by one in Python; of events a scheduler's has the rates.

    Of the placement, the options of the optimizers.
    """
    from autograd_inspector.views import archive

    seen = []
    fractional = archive._fractional
    monkeypatch.setattr(archive, "_fractional", lambda kind: seen.append(kind.__name__) or fractional(kind))
    encode(report("folded"))
    placed = {"Placement", "OptimizerRecord"}
    assert set(seen) == {"Report", "Capture", "GradRead", "Step", "Vitals", "LossScale", "ZeroGradCalled", *placed}
