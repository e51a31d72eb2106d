import torch
from torch import nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings=8, dim=4, beta=0.25):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, dim)
        self.embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self.beta = beta

    def forward(self, z):
        d = z.pow(2).sum(1, keepdim=True) + self.embedding.weight.pow(2).sum(1) - 2 * z @ self.embedding.weight.t()
        indices = d.argmin(1)
        z_q = self.embedding(indices)
        loss = F.mse_loss(z_q, z.detach()) + self.beta * F.mse_loss(z_q.detach(), z)
        z_q = z + (z_q - z).detach()
        return z_q, loss, indices


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 4))
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        z = self.encoder(x)
        z_q, vq_loss, indices = self.quantizer(z)
        return self.decoder(z_q), vq_loss, indices


def run():
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    perplexities = []
    for step in range(4):
        x = torch.randn(16, 10)
        recon, vq_loss, indices = model(x)
        recon_loss = F.mse_loss(recon, x)
        loss = recon_loss + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        probs = F.one_hot(indices, 8).float().mean(0)
        perplexities.append(torch.exp(-(probs * (probs + 1e-10).log()).sum()).item())
    return model, perplexities
