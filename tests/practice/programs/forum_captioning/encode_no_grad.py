"""Captioning: encode() carries @torch.no_grad() from its days as an inference helper, so fine-tuning the encoder does nothing."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

BOS, EOS = 0, 1


class ImageEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(3, dim, 4, 4)
        self.ln = nn.LayerNorm(dim)

    def forward(self, img):
        return self.ln(self.conv(img).flatten(2).mean(-1))


class Captioner(nn.Module):
    def __init__(self, vocab=12, dim=10):
        super().__init__()
        self.encoder = ImageEncoder(dim)
        self.bridge = nn.Linear(dim, dim)
        self.emb = nn.Embedding(vocab, dim)
        self.cell = nn.GRUCell(dim, dim)
        self.word = nn.Linear(dim, vocab)

    @torch.no_grad()  # cause
    def encode(self, img):
        return self.encoder(img)

    def forward(self, img, caption):
        h = torch.tanh(self.bridge(self.encode(img)))
        logits = []
        for t in range(caption.size(1) - 1):
            h = self.cell(self.emb(caption[:, t]), h)
            logits.append(self.word(h))
        return torch.stack(logits, 1)

    @torch.no_grad()
    def generate(self, img, max_len=5):
        h = torch.tanh(self.bridge(self.encode(img)))
        tok, out = torch.full((img.size(0),), BOS), []
        for _ in range(max_len):
            h = self.cell(self.emb(tok), h)
            tok = self.word(h).argmax(-1)
            out.append(tok)
        return torch.stack(out, 1)


def run():
    torch.manual_seed(0)
    model = Captioner()
    groups = [
        {"params": model.encoder.parameters(), "lr": 1e-3},
        {"params": [p for n, p in model.named_parameters() if not n.startswith("encoder")], "lr": 1e-2},
    ]
    opt = torch.optim.Adam(groups)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        img = torch.rand(6, 3, 8, 8)
        caption = torch.randint(2, 12, (6, 5))
        caption[:, 0] = BOS
        loss = F.cross_entropy(model(img, caption).transpose(1, 2), caption[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.generate(img)
    return {n: torch.equal(p, start[n]) for n, p in model.named_parameters()}


def verify(same):
    assert same["encoder.conv.weight"] and same["encoder.ln.bias"]
    assert not same["bridge.weight"]


TRUTH = Truth(
    fault="encode() is decorated with no_grad, so the encoder in the optimizer never gets a gradient",
    names=("encoder",),
    repair=("# with gradients",),
)
