"""Top-1 MoE: experts without tokens are skipped (grad None, no optimizer state yet); routing indices come without gradient."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class SwitchLayer(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, 8), nn.ReLU(), nn.Linear(8, dim)) for _ in range(experts)]
        )

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        weight, index = probs.max(-1)
        out = torch.zeros_like(x)
        for e in index.unique().tolist():
            rows = (index == e).nonzero().squeeze(1)
            out.index_add_(0, rows, weight[rows, None] * self.experts[e](x[rows]))
        load = F.one_hot(index, probs.shape[1]).float().mean(0)
        balance = probs.shape[1] * (load * probs.mean(0)).sum()
        return x + out, balance, index


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.moe, self.head = nn.Linear(4, 6), SwitchLayer(6, 5), nn.Linear(6, 1)

    def forward(self, x):
        h, balance, index = self.moe(self.stem(x))
        return self.head(h), balance, index


def reference(model, x):
    h = model.stem(x)
    probs = model.moe.gate(h).softmax(-1)
    hard = F.one_hot(probs.argmax(-1), 5).float()
    dense = torch.stack([e(h) for e in model.moe.experts], 1)
    out = (dense * (probs * hard)[..., None]).sum(1)
    return model.head(h + out), 5 * (hard.mean(0) * probs.mean(0)).sum()


def run():
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    log = []
    for center in (2.0, 2.0, 2.0, 0.0):
        x = center + 0.3 * torch.randn(6, 4)
        state = {k: v.clone() for k, v in model.state_dict().items()}
        out, balance, index = model(x)
        loss = (out.squeeze(1) - x.sum(1)).pow(2).mean() + 0.01 * balance
        opt.zero_grad(set_to_none=True)
        loss.backward()
        log.append(
            (
                x,
                state,
                set(index.tolist()),
                {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()},
            )
        )
        opt.step()
    return model, opt, start, log


def verify(outcome):
    model, opt, start, log = outcome
    twin = Model()
    used = set()
    for x, state, busy, grads in log:
        used |= busy
        twin.load_state_dict(state)
        twin.zero_grad()
        out, balance = reference(twin, x)
        ((out.squeeze(1) - x.sum(1)).pow(2).mean() + 0.01 * balance).backward()
        for n, p in twin.named_parameters():
            idle = "experts" in n and int(n.split(".")[2]) not in busy
            assert (grads[n] is None) == idle
            assert (p.grad == 0).all() if idle else torch.allclose(p.grad, grads[n], atol=1e-5)
    assert 0 < len(used) < 5
    for n, p in model.named_parameters():
        idle = "experts" in n and int(n.split(".")[2]) not in used
        assert (p not in opt.state) == idle == torch.equal(p, start[n])


TRUTH = Truth()
