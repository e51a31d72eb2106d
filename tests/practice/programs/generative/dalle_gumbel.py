"""Generative: the hard Gumbel-softmax lost its detach; hard - soft + soft has no gradient towards the logits."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def gumbel_softmax(logits, tau=1.0, hard=False, dim=1):
    gumbels = -torch.empty_like(logits).exponential_().log()
    y_soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return y_soft
    index = y_soft.max(dim, keepdim=True)[1]
    y_hard = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return y_hard - y_soft + y_soft  # cause


class ResBlock(nn.Module):
    def __init__(self, chan):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(chan, chan, 3, padding=1), nn.ReLU(), nn.Conv2d(chan, chan, 1))

    def forward(self, x):
        return self.net(x) + x


class DiscreteVAE(nn.Module):
    def __init__(self, num_tokens=16, codebook_dim=8, hidden_dim=8, straight_through=True, kl_div_loss_weight=0.01):
        super().__init__()
        self.num_tokens, self.straight_through, self.kl_weight = num_tokens, straight_through, kl_div_loss_weight
        self.temperature = 0.9
        self.codebook = nn.Embedding(num_tokens, codebook_dim)
        self.encoder = nn.Sequential(
            nn.Conv2d(3, hidden_dim, 4, 2, 1), nn.ReLU(), ResBlock(hidden_dim), nn.Conv2d(hidden_dim, num_tokens, 1)
        )
        self.decoder = nn.Sequential(
            nn.Conv2d(codebook_dim, hidden_dim, 1), ResBlock(hidden_dim), nn.ConvTranspose2d(hidden_dim, 3, 4, 2, 1)
        )

    @torch.no_grad()
    def get_codebook_indices(self, images):
        return self.encoder(images).argmax(dim=1).flatten(1)

    def decode(self, img_seq):
        emb = self.codebook(img_seq)
        hw = int(math.sqrt(emb.size(1)))
        return self.decoder(emb.transpose(1, 2).reshape(emb.size(0), -1, hw, hw))

    def forward(self, img, temp=None):
        logits = self.encoder(img)
        one_hot = gumbel_softmax(logits, tau=temp or self.temperature, hard=self.straight_through)
        sampled = torch.einsum("bnhw,nd->bdhw", one_hot, self.codebook.weight)
        out = self.decoder(sampled)
        recon_loss = F.smooth_l1_loss(out, img)
        log_qy = F.log_softmax(logits.permute(0, 2, 3, 1).flatten(1, 2), dim=-1)
        log_uniform = torch.log(torch.tensor(1.0 / self.num_tokens))
        kl_div = F.kl_div(log_uniform.expand_as(log_qy), log_qy, reduction="batchmean", log_target=True)
        return recon_loss, kl_div * self.kl_weight, out


def save_grid(vae, images):
    codes = vae.get_codebook_indices(images)
    with torch.no_grad():
        return vae.decode(codes), codes.unique().numel()


def run():
    torch.manual_seed(0)
    vae = DiscreteVAE()
    opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(optimizer=opt, gamma=0.98)
    temp, reached = 0.9, []
    for i in range(4):
        images = torch.rand(6, 3, 8, 8)
        recon_loss, kl, _ = vae(images, temp=temp)
        grad = torch.autograd.grad(recon_loss, vae.encoder[0].weight, retain_graph=True)[0]
        reached.append(float(grad.abs().max()))
        opt.zero_grad()
        (recon_loss + kl).backward()
        opt.step()
        if i % 2 == 0:
            save_grid(vae, images[:2])
            temp = max(temp * math.exp(-0.001 * i), 0.5)
            sched.step()
    return reached


def verify(reached):
    assert max(reached) < 1e-9


TRUTH = Truth(
    fault="the straight-through sample has no gradient (y_soft cancels), the reconstruction does not train the encoder",
    names=("gumbel_softmax",),
    repair=("return y_hard - y_soft.detach() + y_soft",),
)
