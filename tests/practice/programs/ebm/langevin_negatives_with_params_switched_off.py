"""EBM: while negatives are drawn the net is in eval mode with requires_grad off and gradients on for the samples; then all is put back."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Dropout(0.2), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class ReplaySampler:
    def __init__(self, net, size, generator):
        self.net, self.generator = net, generator
        self.bank = torch.rand(size, 2, generator=generator) * 4 - 2

    def draw(self, n, steps=5, alpha=0.5):
        rows = torch.randperm(len(self.bank), generator=self.generator)[:n]
        training = self.net.training
        self.net.eval()
        for p in self.net.parameters():
            p.requires_grad = False
        had = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        x = self.bank[rows].clone().requires_grad_()
        for _ in range(steps):
            x.data.add_(0.01 * torch.randn(x.shape, generator=self.generator))
            self.net(x).sum().backward()
            x.data.add_(x.grad.clamp_(-0.3, 0.3), alpha=-alpha)
            x.grad = None
        torch.set_grad_enabled(had)
        for p in self.net.parameters():
            p.requires_grad = True
        self.net.train(training)
        self.bank[rows] = x.detach()
        return x.detach()


def run():
    torch.manual_seed(0)
    net = Energy()
    sampler = ReplaySampler(net, 32, torch.Generator().manual_seed(3))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.0, 0.999))
    log = []
    for _ in range(3):
        real = torch.randn(8, 2) * 0.3 + 1
        with torch.no_grad():
            fake = sampler.draw(8)
        rng, state = torch.get_rng_state(), {k: v.clone() for k, v in net.state_dict().items()}
        e_real, e_fake = net(torch.cat([real, fake])).chunk(2)
        loss = (e_real - e_fake).mean() + 0.1 * (e_real**2 + e_fake**2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        log.append((real, fake, rng, state, [p.grad.clone() for p in net.parameters()], net.training))
        opt.step()
    return net, log


def verify(outcome):
    net, log = outcome
    twin = Energy()
    for real, fake, rng, state, grads, training in log:
        assert training and not fake.requires_grad
        twin.load_state_dict(state)
        torch.set_rng_state(rng)
        mask = nn.functional.dropout(torch.ones(16, 16), 0.2)
        h = twin.net[0](torch.cat([real, fake]))
        e = twin.net[3](h * h.sigmoid() * mask).squeeze(-1)
        a, b = e[:8], e[8:]
        g = torch.autograd.grad((a - b).mean() + 0.1 * (a * a + b * b).mean(), list(twin.parameters()))
        norm = torch.cat([t.flatten() for t in g]).norm()
        for w, got in zip(g, grads):
            assert torch.allclose(w * min(1.0, 0.5 / (norm.item() + 1e-6)), got, atol=1e-6)
    assert all(not torch.equal(p, log[0][3][n]) for n, p in net.named_parameters() if n != "net.3.bias")


TRUTH = Truth()
