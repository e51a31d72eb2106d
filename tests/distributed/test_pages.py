"""The pages of rules about ranks hold an example that is found on two ranks, and a fix that is silent there."""

import textwrap

import pytest
import torch.distributed as dist

from autograd_inspector.rules import CATALOGUE
from tests.rules.test_pages import block

from .ranks import run_ranks

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="this build of torch has no torch.distributed")

CODES = sorted(code for code in CATALOGUE if code.startswith("AG6"))
BODY = """
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

class Branched(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.extra = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x, branch):
        return self.stem(x) + self.extra(x) if branch else self.stem(x)

torch.manual_seed(0)
net, branched, dataset = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), Branched(), torch.randn(4, 4)
held = DistributedDataParallel(nn.Linear(4, 2)) if CODE == "AG604" else BRANCHED and branched or net
optimizer = torch.optim.SGD(held.parameters(), lr=0.1)

def train(x):
    optimizer.zero_grad()
    held(x).square().mean().backward()
    optimizer.step()

torch.manual_seed(rank)
x = torch.randn(3, 4)
with inspect() as inspection:
    exec(compile(SOURCE, "<example>", "exec"))
gathered = inspection.report.gather()
loud = [each.finding for each in gathered.findings if each.finding.severity != "info"]
tell([rules(inspection.report), [finding.rule for finding in loud]])
"""


def told(folder, code, section):
    """(the rules of each rank's own report, those of all together)."""
    body = f"CODE, BRANCHED = {code!r}, {code == 'AG603'}\nSOURCE = {block(CATALOGUE[code].page, section)!r}\n"
    return run_ranks(folder, 2, body + textwrap.dedent(BODY))


@pytest.mark.parametrize("code", CODES)
def test_example_is_found(tmp_path, code):
    """By each rank itself, but for what only a comparison shows."""
    for own, together in told(tmp_path, code, "Example"):
        assert together == [code]
        assert own == ([] if code == "AG602" else [code])


@pytest.mark.parametrize("code", CODES)
def test_fix_is_silent(tmp_path, code):
    """The page's fix runs, and nothing is reported about it."""
    assert told(tmp_path, code, "Fix") == [[[], []]] * 2
