"""`--try-fixes` on top of a cell: it runs again, with each fix, in a copy of the kernel from before it ran."""

SETUP = """
import torch
from torch import nn
enc, head = nn.Linear(3, 3), nn.Linear(3, 1)
opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)
x, runs = torch.randn(4, 3), []
"""
HEADER = "%%autograd_inspect --quiet --store report --try-fixes\n"
CUT = """
runs.append(len(runs))
loss = head(enc(x).detach()).pow(2).mean()
loss.backward()
opt.step()
"""


def test_a_fix_of_the_cell_is_tried(shell):
    """The finding is marked as cured; the cell itself ran once, and what it made is what it made."""
    shell.run(SETUP)
    ran = shell.run(HEADER + CUT)
    assert ran.success
    assert [(f.rule, f.verified) for f in shell["report"].findings] == [("AG101", "cured")]
    assert shell["runs"] == [0]
    assert shell["enc"].weight.grad is None


def test_a_cell_that_raises_is_tried(shell):
    """The trial of what would have worked does not raise; the cell's own error is shown."""
    shell.run(SETUP)
    ran = shell.run(f"{HEADER}h = torch.sigmoid(enc(x))\nloss = h.sum()\nh.add_(1)\nloss.backward()")
    assert not ran.success
    assert [(f.rule, f.verified) for f in shell["report"].findings] == [("AG201", "cured")]


def test_a_function_of_an_earlier_cell_has_its_new_code(shell):
    """The edit stands in another cell than the one that runs; the function here keeps its own."""
    shell.run(f"{SETUP}\ndef features(x):\n    return enc(x).detach()\n")
    shell.run(f"{HEADER}head(features(x)).pow(2).mean().backward()\nopt.step()")
    assert [(f.rule, f.verified) for f in shell["report"].findings] == [("AG101", "cured")]
    assert not shell["features"](shell["x"]).requires_grad


def test_a_cell_that_awaits_is_not_tried(shell):
    """It is said why, and the report is the same."""
    shell.run(SETUP)
    ran = shell.run(f"{HEADER}import asyncio\nawait asyncio.sleep(0)\n{CUT}")
    assert "await" in ran.err
    assert [(f.rule, f.verified) for f in shell["report"].findings] == [("AG101", "")]


def test_the_option_belongs_on_a_cell(shell):
    """A line has nothing that could run again."""
    assert "needs a cell to run again" in shell.run("%autograd_inspect --try-fixes on").err
