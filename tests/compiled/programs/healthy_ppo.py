"""PPO with a compiled policy: the old probabilities come from no_grad."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = nn.Linear(4, 2), nn.Linear(4, 1)

    def forward(self, s):
        return self.pi(s).log_softmax(-1), self.v(s).squeeze(-1)


def setup():
    global net, model, opt, s
    torch.manual_seed(0)
    net = AC()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    s = torch.randn(8, 4)


def run():
    with torch.no_grad():
        old, value = model(s)
        a = torch.distributions.Categorical(logits=old).sample()
        old = old.gather(1, a[:, None]).squeeze(1)
        ret = torch.randn(8)
        adv = ret - value
    for _ in range(3):
        logp, v = model(s)
        ratio = (logp.gather(1, a[:, None]).squeeze(1) - old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean() + 0.5 * F.mse_loss(v, ret)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
