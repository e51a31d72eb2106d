"""VQ-VAE: the straight-through line has its two tensors the wrong way round, the decoder's gradient goes to the codebook."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=8, dim=6, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        self.codebook.weight.data.uniform_(-1 / n_codes, 1 / n_codes)
        self.beta = beta

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        with torch.no_grad():
            idx = torch.cdist(flat, self.codebook.weight).argmin(1)
        q = self.codebook(idx).view(z.shape[0], *z.shape[2:], -1).permute(0, 3, 1, 2)
        loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = q + (z - q).detach()  # cause
        probs = F.one_hot(idx, self.codebook.num_embeddings).float().mean(0)
        perplexity = torch.exp(-(probs * (probs + 1e-10).log()).sum())
        return q, loss, perplexity


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 6, 3, 1, 1))
        self.vq = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Conv2d(6, 8, 3, 1, 1), nn.ReLU(), nn.ConvTranspose2d(8, 3, 4, 2, 1))

    def forward(self, x):
        q, vq_loss, perplexity = self.vq(self.encoder(x))
        return self.decoder(q), vq_loss, perplexity


def run():
    torch.manual_seed(0)
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=False)
    data_variance = 0.06
    for i in range(3):
        x = torch.rand(4, 3, 8, 8) - 0.5
        recon, vq_loss, perplexity = model(x)
        loss = F.mse_loss(recon, x) / data_variance + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{i} loss {loss.item():.4f} perplexity {perplexity.item():.2f}")
    return model


def verify(model):
    recon, _, _ = model(torch.rand(2, 3, 8, 8))
    (grad,) = torch.autograd.grad(recon.sum(), model.encoder[0].weight, allow_unused=True)
    assert grad is None


TRUTH = Truth(
    fault="the reconstruction does not train the encoder",
    names=("encoder",),
    repair=("q = z + (q - z).detach()",),
)
