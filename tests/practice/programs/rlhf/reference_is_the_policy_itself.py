"""DPO with a reference that is the same module, not a copy: the margins are 0."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    policy = nn.Linear(4, 6)
    reference = policy  # cause
    opt = torch.optim.Adam(policy.parameters(), lr=1e-1)
    margins = []
    for _ in range(3):
        x, chosen, rejected = torch.randn(8, 4), torch.randint(0, 6, (8, 1)), torch.randint(0, 6, (8, 1))
        logp = policy(x).log_softmax(-1)
        with torch.no_grad():
            ref_logp = reference(x).log_softmax(-1)
        ratio_chosen = (logp - ref_logp).gather(1, chosen)
        ratio_rejected = (logp - ref_logp).gather(1, rejected)
        loss = -nn.functional.logsigmoid(0.1 * (ratio_chosen - ratio_rejected)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        margins.append((ratio_chosen - ratio_rejected).abs().max().item())
    return margins


def verify(out):
    assert max(out) == 0.0


TRUTH = Truth(
    fault="the reference moves with the policy",
    repair=("reference = nn.Linear(4, 6)\nreference.load_state_dict(policy.state_dict())",),
)
