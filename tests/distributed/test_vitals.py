"""The vitals of several ranks: parts of DTensors measured alone, and put together by `gather()` and `merge`."""

from __future__ import annotations

import math
from textwrap import dedent

import pytest
import torch.distributed as dist

from autograd_inspector.api.ranks import RanksReport
from autograd_inspector.frontends.cli.main import main

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")

SHARDED = """
from torch.distributed.tensor import DTensor

def full(tensor):
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().double().clone()

def local(tensor):
    return (tensor.to_local() if isinstance(tensor, DTensor) else tensor).detach().double().clone()

def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 33), nn.ReLU(), nn.Linear(33, 1))

model = sharded(network())
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
parts, wholes = [], []
torch.manual_seed(1 + rank)
with inspect(values=True) as inspection:
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(8, 16)).pow(2).mean().backward()
        before = [(local(p), full(p)) for p in model.parameters()]
        grads = [(local(p.grad), full(p.grad)) for p in model.parameters()]
        optimizer.step()
        after = [(local(p), full(p)) for p in model.parameters()]
        for told, of in ((parts, 0), (wholes, 1)):
            told.append([
                dict(gradient=g[of].norm().item(), entry=g[of].abs().max().item() if g[of].numel() else None,
                     zeros=(g[of] == 0).double().mean().item(), weight=b[of].norm().item(),
                     update=((a[of] - b[of]).norm() / b[of].norm()).item())
                for g, b, a in zip(grads, before, after)
            ])
report = inspection.report
"""


def close(value, expected):
    return value == pytest.approx(expected, rel=2e-3)


def test_a_part_is_measured_on_its_rank(tmp_path):
    """Each rank's figures of a sharded parameter are those of its part, computed by hand in float64."""
    body = """
    rows = [[p.name, p.part, p.numel, p.held, {name: list(getattr(p, name).values) for name in parts[0][0]}]
            for p in report.vitals.parameters]
    tell([rows, parts])
    """
    for rows, parts in run_ranks(tmp_path, 2, SHARDED + dedent(body)):
        assert [row[0] for row in rows] == ["0.weight", "0.bias", "2.weight", "2.bias"][: len(rows)]
        for number, (_, part, _, held, figures) in enumerate(rows):
            assert part
            assert held
            for name, values in figures.items():
                for step, value in enumerate(values):
                    assert close(value, parts[step][number][name]), (name, step)


def test_gather_puts_parts_together(tmp_path):
    """Every rank gets the figures of whole parameters, pooled batches, each rank's memory, also as JSON and text."""
    body = """
    merged = report.gather()
    tell([merged.to_json(), wholes, [list(m.mean.values) for m in report.vitals.modules],
          [list(m.deviation.values) for m in report.vitals.modules], merged.to_text(), merged.to_html()])
    """
    told = run_ranks(tmp_path, 2, SHARDED + dedent(body))
    assert told[0][0] == told[1][0]
    report = RanksReport.from_json(told[0][0])
    vitals, wholes = report.vitals, told[0][1]
    assert (vitals.ranks, vitals.whole.steps) == ((0, 1), (1, 2))
    assert [p.name for p in vitals.whole.parameters] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    for number, parameter in enumerate(vitals.whole.parameters):
        assert not parameter.part
        for name in wholes[0][number]:
            values = getattr(parameter, name).values
            assert all(close(value, wholes[step][number][name]) for step, value in enumerate(values)), name
    for place, module in enumerate(vitals.whole.modules):
        means, deviations = ([told[rank][kind][place][0] for rank in (0, 1)] for kind in (2, 3))
        mean = sum(means) / 2
        spread = math.sqrt(sum(d**2 + m**2 for d, m in zip(deviations, means, strict=True)) / 2 - mean**2)
        assert close(module.mean.values[0], mean)
        assert close(module.deviation.values[0], spread)
    assert len(vitals.memory) == 2
    assert vitals.whole.memory.parameters[0] == sum(memory.parameters[0] for memory in vitals.memory)
    assert {record["rank"] for record in vitals.records("memory")} == {0, 1}
    assert "vitals: steps 1 to 2" in told[0][4]
    page = told[0][5]
    assert "<h2>Vitals</h2>" in page
    assert page.count("peak memory: ") == told[0][4].count("peak memory: ") == 1
    assert "peak memory: " in told[0][4]


def test_replicas_have_one_row(tmp_path, capsys):
    """Of DistributedDataParallel each parameter is whole on each rank; `merge` of the files says the same."""
    body = """
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with inspect(values=True) as inspection:
        train(model, optimizer, steps=3)
    with open(f"{folder}/part-rank{rank}.json", "w") as file:
        file.write(inspection.report.to_json())
    merged = inspection.report.gather()
    mine = inspection.report.vitals
    tell([merged.vitals.whole.seen, [[p.name, list(p.gradient.values)] for p in merged.vitals.whole.parameters],
          [[p.name, list(p.gradient.values)] for p in mine.parameters]])
    """
    told = run_ranks(tmp_path, 2, body)
    assert told[0][0] == 3
    assert told[0][1] == told[0][2] == told[1][2]
    whole = tmp_path / "all.json"
    assert main(["merge", "--json", str(whole), *map(str, sorted(tmp_path.glob("part-*.json")))]) == 0
    capsys.readouterr()
    merged = RanksReport.from_json(whole.read_text("utf-8")).vitals.whole
    assert [[p.name, list(p.gradient.values)] for p in merged.parameters] == told[0][1]
