"""PPO: several epochs over one rollout, clipped ratios give zero gradients, a KL overshoot rolls weights and optimizer back."""

import copy
import torch
from torch import nn
from tests.practice.truth import Truth


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 4), nn.Linear(16, 1)

    def forward(self, s):
        h = self.trunk(s)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


@torch.no_grad()
def collect(model, n):
    s = torch.randn(n, 3)
    dist, v = model(s)
    a = dist.sample()
    r = (a == (s[:, 0] > 0).long()).float()
    adv = r - v
    return dict(s=s, a=a, logp=dist.log_prob(a), ret=r, adv=(adv - adv.mean()) / (adv.std() + 1e-8), v=v)


def ppo_loss(model, b, clip=0.2):
    dist, v = model(b["s"])
    ratio = (dist.log_prob(b["a"]) - b["logp"]).exp()
    policy = -torch.min(ratio * b["adv"], ratio.clamp(1 - clip, 1 + clip) * b["adv"]).mean()
    v_clip = b["v"] + (v - b["v"]).clamp(-clip, clip)
    value = 0.5 * torch.max((v - b["ret"]).square(), (v_clip - b["ret"]).square()).mean()
    kl = (ratio - 1 - ratio.log()).mean().detach()
    return policy + 0.5 * value - 0.01 * dist.entropy().mean(), kl


def run():
    torch.manual_seed(0)
    model = ActorCritic()
    opt = torch.optim.Adam(model.parameters(), lr=8e-3, eps=1e-5)
    start = copy.deepcopy(model.state_dict())
    log, rollbacks = [], 0
    for _ in range(2):
        buf = collect(model, 24)
        for epoch in range(5):
            kept = copy.deepcopy(model.state_dict()), copy.deepcopy(opt.state_dict())
            for rows in torch.randperm(24).split(8):
                batch = {k: t[rows] for k, t in buf.items()}
                before = copy.deepcopy(model.state_dict())
                loss, _ = ppo_loss(model, batch)
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                log.append((batch, before, [p.grad.clone() for p in model.parameters()]))
                opt.step()
            with torch.no_grad():
                kl = ppo_loss(model, buf)[1]
            if kl > 0.05:
                model.load_state_dict(kept[0])
                opt.load_state_dict(kept[1])
                rollbacks += 1
                same = all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), kept[0].values()))
                assert same
                break
    return model, start, log, rollbacks


def verify(outcome):
    model, start, log, rollbacks = outcome
    assert rollbacks > 0
    twin = ActorCritic()
    clipped = 0
    for b, state, grads in log:
        twin.load_state_dict(state)
        h = twin.trunk(b["s"])
        logp = twin.pi(h).log_softmax(1)
        v = twin.v(h)[:, 0]
        total = 0
        for i in range(8):  # sample by sample, without min/max
            ratio = (logp[i, b["a"][i]] - b["logp"][i]).exp()
            a = b["adv"][i]
            inactive = (a > 0 and ratio > 1.2) or (a < 0 and ratio < 0.8)
            clipped += bool(inactive)
            err, moved = v[i] - b["ret"][i], (v[i] - b["v"][i]).detach()
            far = b["v"][i] + moved.clamp(-0.2, 0.2) - b["ret"][i]
            live_value = err.abs() > far.abs() or moved.abs() <= 0.2
            ent = -(logp[i].exp() * logp[i]).sum()
            total = total + (0 if inactive else -ratio * a) + (0.25 * err.square() if live_value else 0) - 0.01 * ent
        g = torch.autograd.grad(total / 8, list(twin.parameters()))
        norm = torch.cat([t.flatten() for t in g]).norm().item()
        assert all(torch.allclose(w * min(1.0, 0.5 / (norm + 1e-6)), got, atol=1e-5) for w, got in zip(g, grads))
    assert clipped > 0 and all(not torch.equal(v, start[k]) for k, v in model.state_dict().items())


TRUTH = Truth()
