"""What activation checkpointing would save, against what torch's own MemTracker counts when it is done."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector import Report


class Block(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Convolutions(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.one, self.two = nn.Conv1d(1, 4, 3, padding=1), nn.Conv1d(4, 1, 3, padding=1)
        self.norm, self.act = nn.BatchNorm1d(4), nn.ReLU(inplace=True)

    def forward(self, x):
        return x + self.two(self.act(self.norm(self.one(x[:, None]))))[:, 0]


class Attention(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        query, key, value = self.qkv(self.norm(x)).chunk(3, dim=-1)
        return x + self.out(torch.softmax(query @ key.mT / 6, dim=-1) @ value)


class Net(nn.Module):
    def __init__(self, kind: type[nn.Module], checkpointed: tuple[int, ...] = ()):
        super().__init__()
        self.embed = nn.Linear(8, 32)
        self.blocks = nn.ModuleList(kind() for _ in range(4))
        self.head = nn.Linear(32, 1)
        self.checkpointed = checkpointed

    def forward(self, x):
        x = torch.tanh(self.embed(x))
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if number in self.checkpointed else block(x)
        return self.head(x)


def captured(kind: type[nn.Module], checkpointed: tuple[int, ...] = (), **options: bool) -> Report:
    net = Net(kind, checkpointed)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with autograd_inspector.inspect(**options) as inspection:
        net(torch.randn(64, 8)).square().mean().backward()
        optimizer.step()
    return inspection.report


def activations(kind: type[nn.Module], checkpointed: tuple[int, ...] = ()) -> int:
    """Bytes of activations that are alive after the forward."""
    net, x = Net(kind, checkpointed), torch.randn(64, 8)
    tracker = MemTracker()
    tracker.track_external(net, x)
    with tracker:
        loss = net(x).square().mean()
        [snapshot] = tracker.get_tracker_snapshot("current").values()
        loss.backward()
    return next(count for kind, count in snapshot.items() if str(kind).endswith("ACT"))


KINDS = pytest.mark.parametrize("kind", [Block, Convolutions, Attention])


@KINDS
@pytest.mark.parametrize("checkpointed", [(1,), (3,), (0, 1, 2, 3)])
def test_the_saving_is_what_a_checkpoint_then_frees(kind, checkpointed):
    """To within 1 % of what the tracker counts with and without the checkpoints."""
    name = f"net.blocks.{checkpointed[0]}" if len(checkpointed) == 1 else "net.blocks.*"
    [saving] = [one for one in captured(kind).checkpoint_savings if one.name == name and one.type == kind.__name__]
    freed = activations(kind) - activations(kind, checkpointed)
    assert saving.freed == pytest.approx(freed, rel=0.01)


@KINDS
def test_backward_needs_one_block_at_a_time(kind):
    """Beside what is kept, at most the saved tensors of the block whose forward runs again."""
    savings = {one.name: one for one in captured(kind).checkpoint_savings if one.type == kind.__name__}
    together, alone = savings["net.blocks.*"], savings["net.blocks.0"]
    assert together.held < together.peak < together.before
    assert alone.peak == alone.before
    assert together.freed > 3 * alone.freed


def test_what_is_checkpointed_already_saves_nothing_more():
    """Only the blocks without a checkpoint are listed."""
    names = {one.name for one in captured(Block, (0, 1, 2)).checkpoint_savings if one.type == "Block"}
    assert names <= {"net.blocks.3", "net.blocks.*"}
    assert "net.blocks.3" in names


def test_a_program_without_backward_has_no_savings():
    """Nothing is kept for a backward that never ran."""
    with autograd_inspector.inspect() as inspection:
        Net(Block)(torch.randn(2, 8))
    assert inspection.report.checkpoint_savings == ()


def test_the_report_says_it_beside_the_vitals():
    """In the text of a capture that read values."""
    text = " ".join(captured(Block, values=True).to_text().split())
    assert "checkpointing net.blocks.* (4 × Block) keeps " in text
    assert "20 ops run twice" in text
