from __future__ import annotations

from autograd_inspector.kernel.cell_ids import cell_ids, ran

CELL = "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()"


def test_a_report_knows_the_ids_of_its_cells(shell):
    """The front end's own id of the cell that ran under a count, for those cells that the report speaks of."""
    shell.ip.run_cell("other = 1", store_history=True, cell_id="unrelated")
    shell.ip.run_cell(f"%%autograd_inspect --store report\n{CELL}", store_history=True, cell_id="a-b-c")
    count = shell.ip.execution_count - 1
    assert cell_ids(shell["report"].capture) == {f"In [{count}]": "a-b-c"}


def test_without_ids_there_is_nothing_to_find(shell):
    """nbclient and terminals number no cells."""
    shell.run("a = 1\n" * 3)
    shell.ip.run_cell(f"%%autograd_inspect --store report\n{CELL}", store_history=True)
    assert cell_ids(shell["report"].capture) == {}


def test_old_cells_are_forgotten(shell):
    """A long session keeps the newest ten thousand."""
    for count in range(100_000, 110_001):
        ran(count, f"id-{count}", "")
    report = shell.inspect(CELL)
    assert "In [100000]" not in cell_ids(report.capture)
