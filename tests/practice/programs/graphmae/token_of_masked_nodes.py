"""GraphMAE: the mask token is added to a copy that indexing has made, since somebody tidied up the `+=`."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class GCNConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin, self.bias = nn.Linear(cin, cout, bias=False), nn.Parameter(torch.zeros(cout))

    def forward(self, x, edge_index):
        src, dst = edge_index
        deg = torch.zeros(len(x)).index_add_(0, dst, torch.ones(len(dst))).clamp(min=1)
        norm = (deg[src] * deg[dst]).rsqrt()[:, None]
        h = self.lin(x)
        return torch.zeros_like(h).index_add(0, dst, h[src] * norm) + self.bias


class GNN(nn.Module):
    def __init__(self, cin, hidden, cout):
        super().__init__()
        self.conv1, self.conv2, self.act = GCNConv(cin, hidden), GCNConv(hidden, cout), nn.PReLU()

    def forward(self, x, edge_index):
        return self.conv2(self.act(self.conv1(x, edge_index)), edge_index)


def sce_loss(x, y, alpha=2):
    return (1 - F.cosine_similarity(x, y, dim=-1)).pow(alpha).mean()


class PreModel(nn.Module):
    def __init__(self, in_dim, num_hidden, mask_rate=0.5, replace_rate=0.1):
        super().__init__()
        self.mask_rate, self.replace_rate = mask_rate, replace_rate
        self.enc_mask_token = nn.Parameter(torch.zeros(1, in_dim))
        self.encoder = GNN(in_dim, num_hidden, num_hidden)
        self.encoder_to_decoder = nn.Linear(num_hidden, num_hidden, bias=False)
        self.decoder = GCNConv(num_hidden, in_dim)

    def encoding_mask_noise(self, x):
        perm = torch.randperm(len(x))
        num_mask = int(self.mask_rate * len(x))
        mask_nodes = perm[:num_mask]
        num_noise = int(self.replace_rate * num_mask)
        token_nodes, noise_nodes = mask_nodes[num_noise:], mask_nodes[:num_noise]
        out_x = x.clone()
        out_x[token_nodes] = 0.0
        out_x[noise_nodes] = x[torch.randperm(len(x))[:num_noise]]
        out_x[token_nodes].add_(self.enc_mask_token)  # cause
        return out_x, mask_nodes

    def forward(self, x, edge_index):
        use_x, mask_nodes = self.encoding_mask_noise(x)
        rep = self.encoder_to_decoder(self.encoder(use_x, edge_index))
        rep = rep.index_fill(0, mask_nodes, 0.0)  # remask
        recon = self.decoder(rep, edge_index)
        return sce_loss(recon[mask_nodes], x[mask_nodes])


def run():
    torch.manual_seed(0)
    x, edge_index = torch.randn(40, 8), torch.randint(0, 40, (2, 160))
    model = PreModel(8, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=2e-4)
    for _ in range(5):
        model.train()
        loss = model(x, edge_index)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.enc_mask_token.detach()


def verify(token):
    assert not token.any()


TRUTH = Truth(
    fault="out_x[token_nodes] is a copy: the token is added to it in vain, and gets no gradient",
    names=("enc_mask_token",),
    repair=("out_x[token_nodes] += self.enc_mask_token",),
)
