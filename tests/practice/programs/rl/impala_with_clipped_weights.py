"""V-trace: the importance weights are computed without grad and clipped; the policy's log-probs keep their graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(4, 16), nn.Linear(16, 3), nn.Linear(16, 1)

    def forward(self, s):
        h = self.body(s).relu()
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.RMSprop(net.parameters(), 1e-3)
    for _ in range(3):
        s, r = torch.randn(9, 4), torch.randn(8)
        with torch.no_grad():
            behaviour, _ = net(s[:-1] + 0.05 * torch.randn(8, 4))
            a = behaviour.sample()
            mu = behaviour.log_prob(a)
        dist, values = net(s)
        logp = dist.log_prob(torch.cat([a, a[:1]]))[:-1]
        with torch.no_grad():
            rho = (logp - mu).exp().clamp(max=1.0)
            delta = rho * (r + 0.99 * values[1:] - values[:-1])
            vs, acc = values[:-1].clone(), torch.zeros(())
            for t in reversed(range(8)):
                acc = delta[t] + 0.99 * rho[t] * acc
                vs[t] += acc
            advantage = rho * (r + 0.99 * torch.cat([vs[1:], values[-1:]]) - values[:-1])
        loss = -(logp * advantage).mean() + 0.5 * (vs - values[:-1]).pow(2).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 40.0)
        opt.step()
    return net


TRUTH = Truth()
