"""RBM with persistent CD: Gibbs chains run without gradients; one half of training fills .grad by formula, the other by free energies."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class RBM(nn.Module):
    def __init__(self, visible, hidden):
        super().__init__()
        self.w = nn.Parameter(0.1 * torch.randn(hidden, visible))
        self.v_bias, self.h_bias = nn.Parameter(torch.zeros(visible)), nn.Parameter(torch.zeros(hidden))
        self.register_buffer("chains", torch.bernoulli(torch.full((8, visible), 0.5)))

    def hidden(self, v):
        return torch.sigmoid(F.linear(v, self.w, self.h_bias))

    @torch.no_grad()
    def gibbs(self, steps):
        v = self.chains
        for _ in range(steps):
            h = torch.bernoulli(self.hidden(v))
            v = torch.bernoulli(torch.sigmoid(h @ self.w + self.v_bias))
        self.chains.copy_(v)
        return v

    def free_energy(self, v):
        return -(v @ self.v_bias) - F.softplus(F.linear(v, self.w, self.h_bias)).sum(1)

    @torch.no_grad()
    def fill_grads(self, data, model):
        hd, hm = self.hidden(data), self.hidden(model)
        n = len(data)
        self.w.grad = (hm.T @ model - hd.T @ data) / n
        self.v_bias.grad = (model - data).mean(0)
        self.h_bias.grad = (hm - hd).mean(0)


def run():
    torch.manual_seed(0)
    rbm = RBM(6, 4)
    opt = torch.optim.SGD(rbm.parameters(), lr=0.1, momentum=0.5, weight_decay=1e-4)
    log = []
    for step in range(4):
        data = (torch.rand(8, 6) < torch.tensor([0.9, 0.9, 0.9, 0.1, 0.1, 0.1])).float()
        state = {k: v.clone() for k, v in rbm.state_dict().items()}
        negative = rbm.gibbs(3)
        opt.zero_grad()
        if step % 2:
            (rbm.free_energy(data).mean() - rbm.free_energy(negative.detach()).mean()).backward()
        else:
            rbm.fill_grads(data, negative)
        log.append((step, data, negative.clone(), state, {n: p.grad.clone() for n, p in rbm.named_parameters()}))
        opt.step()
    return rbm, log


def verify(outcome):
    rbm, log = outcome
    twin = RBM(6, 4)
    for step, data, negative, state, grads in log:
        twin.load_state_dict(state)
        twin.zero_grad()
        if step % 2:  # each way is checked by the other
            twin.fill_grads(data, negative)
            wanted = [p.grad for p in twin.parameters()]
        else:
            loss = twin.free_energy(data).mean() - twin.free_energy(negative).mean()
            wanted = torch.autograd.grad(loss, list(twin.parameters()))
        for (n, _), g in zip(twin.named_parameters(), wanted):
            assert torch.allclose(g, grads[n], atol=1e-6) and g.any()
    assert all(not torch.equal(v, log[0][3][k]) for k, v in rbm.state_dict().items())


TRUTH = Truth()
