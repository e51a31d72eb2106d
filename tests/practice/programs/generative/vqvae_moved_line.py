"""Generative: the straight-through line moved above the losses, so that the codebook's loss no longer reaches the codebook."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost):
        super().__init__()
        self._embedding_dim = embedding_dim
        self._num_embeddings = num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 3, 1).contiguous()
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (
            torch.sum(flat_input**2, dim=1, keepdim=True)
            + torch.sum(self._embedding.weight**2, dim=1)
            - 2 * torch.matmul(flat_input, self._embedding.weight.t())
        )
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        quantized = inputs + (quantized - inputs).detach()  # cause

        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss

        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity  # cause


class Residual(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self._block = nn.Sequential(
            nn.ReLU(inplace=False),
            nn.Conv2d(channels, hidden, 3, padding=1, bias=False),
            nn.ReLU(True),
            nn.Conv2d(hidden, channels, 1, bias=False),
        )

    def forward(self, x):
        return x + self._block(x)


class Model(nn.Module):
    def __init__(self, hiddens=12, embedding_dim=6, num_embeddings=8):
        super().__init__()
        self._encoder = nn.Sequential(nn.Conv2d(3, hiddens, 4, 2, 1), nn.ReLU(), Residual(hiddens, 4))
        self._pre_vq_conv = nn.Conv2d(hiddens, embedding_dim, 1)
        self._vq_vae = VectorQuantizer(num_embeddings, embedding_dim, 0.25)
        self._decoder = nn.Sequential(Residual(embedding_dim, 4), nn.ConvTranspose2d(embedding_dim, 3, 4, 2, 1))

    def forward(self, x):
        z = self._pre_vq_conv(self._encoder(x))
        loss, quantized, perplexity = self._vq_vae(z)
        return loss, self._decoder(quantized), perplexity


def run():
    torch.manual_seed(7)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=False)
    data = torch.rand(16, 3, 8, 8) - 0.5
    data_variance = data.var()
    start = model._vq_vae._embedding.weight.detach().clone()
    train_res_recon_error, train_res_perplexity = [], []
    for i in range(3):
        batch = data[torch.randint(0, 16, (8,))]
        optimizer.zero_grad()
        vq_loss, data_recon, perplexity = model(batch)
        recon_error = F.mse_loss(data_recon, batch) / data_variance
        loss = recon_error + vq_loss
        loss.backward()
        optimizer.step()
        train_res_recon_error.append(recon_error.item())
        train_res_perplexity.append(perplexity.item())
    return start, model._vq_vae._embedding.weight.detach().clone()


def verify(outcome):
    start, end = outcome
    assert torch.equal(start, end)


TRUTH = Truth(
    fault="the codebook gets no gradient: the straight-through estimator is applied before the codebook loss",
    names=("_vq_vae._embedding.weight",),
    repair=(
        "",
        "quantized = inputs + (quantized - inputs).detach()\nreturn loss, quantized.permute(0, 3, 1, 2).contiguous(), perplexity",
    ),
)
