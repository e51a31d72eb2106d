"""Forecasting: Informer's distilling convolutions are kept in a plain list and belong to no optimizer."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    enc_in: int = 3
    seq_len: int = 16
    label_len: int = 4
    pred_len: int = 4
    d_model: int = 12
    n_heads: int = 2
    e_layers: int = 3
    distil: bool = True
    lr: float = 5e-3
    train_steps: int = 3


class ConvLayer(nn.Module):
    def __init__(self, c_in):
        super().__init__()
        self.downConv = nn.Conv1d(c_in, c_in, 3, padding=1, padding_mode="circular")
        self.norm = nn.LayerNorm(c_in)
        self.maxPool = nn.MaxPool1d(3, 2, 1)

    def forward(self, x):
        x = self.downConv(x.transpose(1, 2)).transpose(1, 2)
        return self.maxPool(F.elu(self.norm(x)).transpose(1, 2)).transpose(1, 2)


class EncoderLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.attention = nn.MultiheadAttention(d, h, batch_first=True)
        self.conv1, self.conv2 = nn.Conv1d(d, 2 * d, 1), nn.Conv1d(2 * d, d, 1)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.conv2(F.gelu(self.conv1(x.transpose(1, 2)))).transpose(1, 2))


class Encoder(nn.Module):
    def __init__(self, attn_layers, conv_layers, norm_layer):
        super().__init__()
        self.attn_layers = nn.ModuleList(attn_layers)
        self.conv_layers = list(conv_layers)  # cause
        self.norm = norm_layer

    def forward(self, x):
        for i, attn in enumerate(self.attn_layers):
            x = attn(x)
            if i < len(self.conv_layers):
                x = self.conv_layers[i](x)
        return self.norm(x)


class DecoderLayer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(d, h, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(d, h, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, cross):
        x = self.norm1(x + self.self_attention(x, x, x, need_weights=False)[0])
        return self.norm2(x + self.cross_attention(x, cross, cross, need_weights=False)[0])


class Informer(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.a = a
        self.enc_embedding, self.dec_embedding = nn.Linear(a.enc_in, a.d_model), nn.Linear(a.enc_in, a.d_model)
        convs = [ConvLayer(a.d_model) for _ in range(a.e_layers - 1)] if a.distil else []
        self.encoder = Encoder(
            [EncoderLayer(a.d_model, a.n_heads) for _ in range(a.e_layers)], convs, nn.LayerNorm(a.d_model)
        )
        self.decoder = DecoderLayer(a.d_model, a.n_heads)
        self.projection = nn.Linear(a.d_model, a.enc_in)

    def forward(self, x_enc, x_dec):
        enc = self.encoder(self.enc_embedding(x_enc))
        return self.projection(self.decoder(self.dec_embedding(x_dec), enc))[:, -self.a.pred_len :]


class Exp_Informer:
    def __init__(self, args):
        self.args = args
        self.model = Informer(args)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        t = torch.arange(400) / 10
        self.series = torch.stack([t.sin(), (t * 0.7).cos(), (t * 0.3).sin() * t.cos()], dim=1)

    def batch(self, n=8):
        a = self.args
        starts = torch.randint(len(self.series) - a.seq_len - a.pred_len, (n,)).tolist()
        x = torch.stack([self.series[s : s + a.seq_len] for s in starts])
        y = torch.stack([self.series[s + a.seq_len - a.label_len : s + a.seq_len + a.pred_len] for s in starts])
        return x, y

    def train(self):
        self.model.train()
        for _ in range(self.args.train_steps):
            x, y = self.batch()
            dec_inp = torch.cat([y[:, : self.args.label_len], torch.zeros_like(y[:, -self.args.pred_len :])], dim=1)
            loss = F.mse_loss(self.model(x, dec_inp), y[:, -self.args.pred_len :])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


def run():
    torch.manual_seed(0)
    exp = Exp_Informer(Args())
    before = [c.downConv.weight.detach().clone() for c in exp.model.encoder.conv_layers]
    exp.train()
    return before, [c.downConv.weight.detach() for c in exp.model.encoder.conv_layers]


def verify(outcome):
    before, after = outcome
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="modules in a Python list are not registered: parameters() misses the distilling layers and the optimizer too",
    names=("conv_layers",),
    repair=("self.conv_layers = nn.ModuleList(conv_layers)",),
)
