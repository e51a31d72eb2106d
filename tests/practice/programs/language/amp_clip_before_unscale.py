"""Language: after the move to torch.amp the clip comes before unscale_, and cuts the scaled gradients."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class TrainArgs:
    src_vocab: int = 15
    tgt_vocab: int = 17
    dim: int = 16
    layers: int = 1
    lr: float = 0.5
    clip_norm: float = 1.0
    init_scale: float = 2.0**14
    label_smoothing: float = 0.1
    updates: int = 3
    amp: bool = True


class Encoder(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embed = nn.Embedding(a.src_vocab, a.dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(a.dim, 2, 32, 0.0, batch_first=True) for _ in range(a.layers)
        )

    def forward(self, src):
        x = self.embed(src) * self.embed.embedding_dim**0.5
        for layer in self.layers:
            x = layer(x)
        return x


class Decoder(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.embed = nn.Embedding(a.tgt_vocab, a.dim)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(a.dim, 2, 32, 0.0, batch_first=True) for _ in range(a.layers)
        )
        self.out = nn.Linear(a.dim, a.tgt_vocab)

    def forward(self, prev, memory):
        x = self.embed(prev)
        mask = nn.Transformer.generate_square_subsequent_mask(prev.size(1))
        for layer in self.layers:
            x = layer(x, memory, tgt_mask=mask)
        return self.out(x)


class Seq2Seq(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.encoder, self.decoder = Encoder(a), Decoder(a)

    def forward(self, src, prev):
        return self.decoder(prev, self.encoder(src))


class AMPTrainer:
    def __init__(self, args, model):
        self.args, self.model = args, model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
        # torch.cuda.amp.GradScaler is deprecated
        self.scaler = torch.amp.GradScaler("cpu", init_scale=args.init_scale, enabled=args.amp)
        self.applied = []

    def forward_loss(self, sample):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.args.amp):
            logits = self.model(sample["src"], sample["tgt"][:, :-1])
        flat = logits.float().flatten(0, 1)
        return F.cross_entropy(flat, sample["tgt"][:, 1:].flatten(), label_smoothing=self.args.label_smoothing)

    def clip(self):
        return nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip_norm)

    def train_step(self, sample):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.forward_loss(sample)
        self.scaler.scale(loss).backward()
        self.clip()  # cause
        self.scaler.unscale_(self.optimizer)  # cause
        self.applied.append(torch.stack([p.grad.norm() for p in self.model.parameters()]).norm().item())
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def make_sample(args):
    src = torch.randint(args.src_vocab, (6, 5))
    return {"src": src, "tgt": torch.cat([torch.zeros(6, 1, dtype=torch.long), src + 1], dim=1)}


def run():
    torch.manual_seed(0)
    args = TrainArgs()
    trainer = AMPTrainer(args, Seq2Seq(args))
    for _ in range(args.updates):
        trainer.train_step(make_sample(args))
    return args, trainer.applied


def verify(outcome):
    args, applied = outcome
    assert all(norm < 1.01 * args.clip_norm / args.init_scale for norm in applied)


TRUTH = Truth(
    fault="clip_grad_norm_ sees gradients times 16384 and cuts them to 1; after unscale_ nearly nothing is left",
    names=("clip_grad_norm_", "unscale_"),
    repair=("self.scaler.unscale_(self.optimizer)", "self.clip()"),
)
