"""StyleGAN2: the lazy R1 penalty of the discriminator has no gradient."""

from types import SimpleNamespace

import torch
from torch import autograd, nn, optim
from torch.nn import functional as F

from tests.practice.truth import Truth

args = SimpleNamespace(latent=8, batch=4, iter=4, d_reg_every=2, r1=10.0, lr=0.002)


def conv(inch, outch):
    return nn.Sequential(nn.Conv2d(inch, outch, 3, padding=1), nn.Softplus())


class Generator(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(0.2))
        self.input = nn.Linear(32, 8 * 4 * 4)
        self.to_rgb = nn.Sequential(conv(8, 8), nn.Conv2d(8, 3, 1))

    def forward(self, z):
        x = self.input(self.style(z)).view(-1, 8, 4, 4)
        return self.to_rgb(F.interpolate(x, scale_factor=2))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(conv(3, 8), conv(8, 8))
        self.final_linear = nn.Linear(8 * 8 * 8, 1)

    def forward(self, x):
        return self.final_linear(self.convs(x).flatten(1))


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def d_r1_loss(real_pred, real_img):
    (grad_real,) = autograd.grad(
        outputs=real_pred.sum(),
        inputs=real_img,
        retain_graph=True,  # cause
    )
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def run():
    torch.manual_seed(0)
    g, d = Generator(args.latent), Discriminator()
    g_optim = optim.Adam(g.parameters(), lr=args.lr, betas=(0.0, 0.99))
    d_optim = optim.Adam(d.parameters(), lr=args.lr, betas=(0.0, 0.99))
    reg_norms = []
    for i in range(args.iter):
        real_img = torch.randn(args.batch, 3, 8, 8)
        requires_grad(g, False)
        requires_grad(d, True)
        fake_img = g(torch.randn(args.batch, args.latent))
        d_loss = d_logistic_loss(d(real_img), d(fake_img))
        d.zero_grad()
        d_loss.backward()
        d_optim.step()

        if i % args.d_reg_every == 0:
            real_img.requires_grad = True
            real_pred = d(real_img)
            r1_loss = d_r1_loss(real_pred, real_img)
            d.zero_grad()
            # the last term keeps every output in the graph for DDP
            (args.r1 / 2 * r1_loss * args.d_reg_every + 0 * real_pred[0]).sum().backward()
            reg_norms.append(sum(p.grad.norm().item() for p in d.parameters() if p.grad is not None))
            d_optim.step()

        requires_grad(g, True)
        requires_grad(d, False)
        g_loss = F.softplus(-d(g(torch.randn(args.batch, args.latent)))).mean()
        g.zero_grad()
        g_loss.backward()
        g_optim.step()
    return reg_norms


def verify(outcome):
    assert len(outcome) == 2 and all(n == 0 for n in outcome), outcome


TRUTH = Truth(
    fault="autograd.grad of R1 is called without create_graph=True, so the penalty reaches no parameter",
    names=("create_graph",),
    repair=("create_graph=True,",),
)
