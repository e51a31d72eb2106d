"""AG304: attention in which a mask hides every key of a query."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, inspected, trained
from .twins import calm

X = torch.randn(4, 3, 8, generator=torch.Generator().manual_seed(1))
SEEN = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]]).bool()


class Attention(nn.Module):
    def __init__(self, mask_of, fill):
        super().__init__()
        self.attn, self.mask_of, self.fill = nn.MultiheadAttention(8, 2, batch_first=True), mask_of, fill

    def forward(self, x, seen):
        mask = self.mask_of(seen)  # mask
        out, _ = self.attn(x, x, x, key_padding_mask=mask)  # attention
        return out.masked_fill(~seen.any(1)[:, None, None], 0.0) if self.fill else out


class Direct(Attention):
    def forward(self, x, seen):
        mask = ~seen  # mask
        return self.attn(x, x, x, key_padding_mask=mask)[0]


def steps(mask_of, seen=SEEN, *, fill=True, kind=Attention):
    net = kind(mask_of, fill)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, net(X, seen).pow(2).mean())


def of_bool(seen):
    return ~seen


def of_floats(seen):
    return torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))  # infinite


def told(program):
    (finding,) = (finding for finding in alarms(inspected(program, values=True)) if finding.rule == "AG304")
    return finding, {place.role: place.source for place in finding.locations}


def test_the_mask_is_named():
    """The line that computed it is shown, also where it has no name, or where the result is filled afterwards."""
    finding, places = told(lambda: steps(None, kind=Direct))
    assert "mask & ~mask.all(-1, keepdim=True)" in finding.fix
    assert "# mask" in places["mask computed here"]
    for fill in (True, False):
        finding, places = told(lambda fill=fill: steps(of_bool, fill=fill))
        assert "return ~seen" in places["mask computed here"]
        assert "# attention" in places["first NaN here"]


def test_a_mask_of_numbers():
    """One that the program fills with infinities itself: where it does."""
    finding, places = told(lambda: steps(of_floats))
    assert finding.fix.startswith("The mask hides all keys")
    assert "# infinite" in places["set to infinity here"]


def test_nan_that_comes_with_the_input():
    """Of an input that is NaN already no mask is to blame."""

    def program():
        net = Attention(of_bool, fill=False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        trained(optimizer, net(X * float("nan"), SEEN[:3].repeat(2, 1)[:4]).pow(2).mean())

    finding, _ = told(program)
    assert "mask" not in finding.fix


def test_masks_that_leave_a_key():
    """Rows that are masked in part, a row that is opened again, and a mask of a finite number are right."""
    calm(
        lambda: steps(of_bool, SEEN[[0, 1, 2, 2]]),
        lambda: steps(lambda seen: ~seen & seen.any(1, keepdim=True)),
        lambda: steps(lambda seen: torch.zeros(seen.shape).masked_fill(~seen, -1e9)),
    )
