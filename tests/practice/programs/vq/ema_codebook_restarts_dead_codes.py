"""VQ-VAE: codes are buffers moved by EMA, dead ones restarted from encoder outputs, the encoder gets straight-through gradients."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class Quantizer(nn.Module):
    def __init__(self, codes, dim, decay=0.6, threshold=0.3):
        super().__init__()
        self.decay, self.threshold = decay, threshold
        self.register_buffer("book", torch.randn(codes, dim))
        self.register_buffer("count", torch.ones(codes))
        self.register_buffer("total", self.book.clone())
        self.restarts = 0

    def forward(self, z):
        index = torch.cdist(z.detach(), self.book).argmin(1)
        q = self.book[index]
        commit = F.mse_loss(z, q)
        if self.training:
            self.update(z.detach(), index)
        return z + (q - z).detach(), commit, q

    @torch.no_grad()
    def update(self, z, index):
        hot = F.one_hot(index, len(self.book)).to(z)
        self.count.lerp_(hot.sum(0), 1 - self.decay)
        self.total.lerp_(hot.T @ z, 1 - self.decay)
        dead = self.count < self.threshold
        if n := int(dead.sum()):
            picks = z[torch.randint(len(z), (n,))]
            self.total[dead] = picks
            self.count[dead] = 1.0
            self.restarts += n
        self.book.copy_(self.total / self.count[:, None])


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec, self.vq = nn.Linear(6, 3), nn.Linear(3, 6), Quantizer(12, 3)

    def forward(self, x):
        z = self.enc(x)
        st, commit, q = self.vq(z)
        return self.dec(st), commit, q


def run():
    torch.manual_seed(0)
    model = VQ()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    first = {k: v.clone() for k, v in model.state_dict().items()}
    log = []
    for _ in range(4):
        x = torch.randn(16, 6)
        before = {k: v.clone() for k, v in model.state_dict().items()}
        recon, commit, q = model(x)
        loss = F.mse_loss(recon, x) + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        log.append((x, before, q, model.enc.weight.grad.clone(), model.dec.weight.grad.clone()))
        opt.step()
    return model, first, log


def verify(outcome):
    model, first, log = outcome
    for x, p, q, enc_grad, dec_grad in log:
        z = x @ p["enc.weight"].T + p["enc.bias"]
        err = 2 * (q @ p["dec.weight"].T + p["dec.bias"] - x) / x.numel()
        dz = err @ p["dec.weight"] + 0.25 * 2 * (z - q) / z.numel()
        assert torch.allclose(enc_grad, dz.T @ x, atol=1e-5)
        assert torch.allclose(dec_grad, err.T @ q, atol=1e-5)
    assert model.vq.restarts > 0 and len(list(model.vq.parameters())) == 0
    assert all(not torch.equal(v, first[k]) for k, v in model.state_dict().items())


TRUTH = Truth()
