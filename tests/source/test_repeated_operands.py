"""Which calls write out that they put an entry together with itself."""

import pytest

from autograd_inspector.source.repeated_operands import repeats_an_entry

IN_THE_CALL = (
    "torch.cat((x, x), -1)",
    "torch.cat([a.b, c, a.b])",
    "torch.stack([x] * n)",
    "torch.stack(tensors=(x, x))",
    "torch.cat([x for _ in range(2)])",
)
FROM_ELSEWHERE = (
    "torch.cat(kept)",
    "torch.stack([*kept])",
    "torch.stack([x for x in kept])",
    "torch.stack(list(kept))",
    "torch.stack([before, now])",
    "x + x",
    "(",
)


@pytest.mark.parametrize("text", IN_THE_CALL)
def test_an_entry_that_the_call_itself_repeats(text):
    """A display that has it twice, one that is repeated, one entry for each of a range."""
    assert repeats_an_entry(text)


@pytest.mark.parametrize("text", FROM_ELSEWHERE)
def test_entries_from_elsewhere(text):
    """A container that was filled before, also where it is unpacked or gone through; two names."""
    assert not repeats_an_entry(text)
