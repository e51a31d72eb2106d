"""DeepSDF: one latent per shape lives in an embedding, projected to a ball in place after each step; at test time only a new code learns."""

import torch
from torch import nn
from tests.practice.truth import Truth


class Decoder(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.l1, self.l2 = nn.utils.parametrizations.weight_norm(nn.Linear(latent + 2, 12)), nn.Linear(12, 1)

    def forward(self, z, p):
        return torch.tanh(self.l2(torch.relu(self.l1(torch.cat([z, p], 1))))).squeeze(1)


def clamp_l1(pred, sdf):
    return (pred.clamp(-0.3, 0.3) - sdf.clamp(-0.3, 0.3)).abs().mean()


def samples(radius):
    p = torch.rand(16, 2) * 2 - 1
    return p, p.norm(dim=1) - radius


def infer_code(decoder, radius, steps=4):
    flags = [p.requires_grad for p in decoder.parameters()]
    decoder.eval().requires_grad_(False)
    code = torch.zeros(1, 4).normal_(0, 0.01).requires_grad_()
    opt = torch.optim.Adam([code], lr=5e-2)
    trail = []
    for _ in range(steps):
        p, sdf = samples(radius)
        opt.zero_grad()
        (clamp_l1(decoder(code.expand(16, -1), p), sdf) + 1e-3 * code.square().mean()).backward()
        trail.append((code.detach().clone(), p, sdf, code.grad.clone()))
        opt.step()
    for p, f in zip(decoder.parameters(), flags):
        p.requires_grad_(f)
    return code.detach(), trail


def run():
    torch.manual_seed(0)
    decoder, codes = Decoder(), nn.Embedding(3, 4)
    nn.init.normal_(codes.weight, 0, 0.5)
    opt = torch.optim.Adam([{"params": decoder.parameters(), "lr": 5e-3}, {"params": codes.parameters(), "lr": 5e-2}])
    start = [p.detach().clone() for p in (*decoder.parameters(), codes.weight)]
    norms = []
    for step in range(4):
        shape = torch.tensor([step % 3]).expand(16)
        p, sdf = samples(0.3 + 0.2 * (step % 3))
        opt.zero_grad()
        loss = clamp_l1(decoder(codes(shape), p), sdf) + 1e-3 * codes(shape).square().mean()
        loss.backward()
        opt.step()
        with torch.no_grad():
            codes.weight.copy_(torch.renorm(codes.weight, 2, 0, 0.8))
        norms.append(codes.weight.norm(dim=1).max().item())
    trained = [p.detach().clone() for p in decoder.parameters()]
    code, trail = infer_code(decoder, 0.45)
    return decoder, codes, start, norms, trained, code, trail


def verify(outcome):
    decoder, codes, start, norms, trained, code, trail = outcome
    assert max(norms) <= 0.8 + 1e-5 and all(p.requires_grad for p in decoder.parameters())
    assert all(torch.equal(a, b) for a, b in zip(decoder.parameters(), trained))
    assert all(not torch.equal(a, b) for a, b in zip((*trained, codes.weight), start))
    g, v = decoder.l1.parametrizations.weight.original0.detach(), decoder.l1.parametrizations.weight.original1.detach()
    w1, b1 = g * v / v.norm(dim=1, keepdim=True), decoder.l1.bias.detach()
    w2, b2 = decoder.l2.weight.detach(), decoder.l2.bias.detach()
    for z, p, sdf, grad in trail:
        h = torch.cat([z.expand(16, -1), p], 1) @ w1.T + b1
        out = torch.tanh(h.relu() @ w2.T + b2)[:, 0]
        err = torch.where(out.abs() <= 0.3, (out.clamp(-0.3, 0.3) - sdf.clamp(-0.3, 0.3)).sign(), 0.0) / 16
        dz = ((err * (1 - out**2))[:, None] * w2 * (h > 0)) @ w1
        assert torch.allclose(grad, dz[:, :4].sum(0, keepdim=True) + 1e-3 * 2 * z / 4, atol=1e-6)
    assert not torch.equal(code, trail[0][0])


TRUTH = Truth()
