"""torchtune: the optimizers step inside backward, so the clipping that comes after it clips nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

CFG = {"optimizer_in_bwd": True, "max_norm": 0.05, "lr": 0.1, "epochs": 1, "batch_size": 4, "steps": 3}


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale


class TransformerDecoder(nn.Module):
    def __init__(self, vocab=24, dim=16, layers=2):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            [
                nn.ModuleDict(
                    {"norm": RMSNorm(dim), "qkv": nn.Linear(dim, 3 * dim, bias=False), "out": nn.Linear(dim, dim)}
                )
                for _ in range(layers)
            ]
        )
        self.norm, self.output = RMSNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            q, k, v = layer["qkv"](layer["norm"](h)).chunk(3, -1)
            h = h + layer["out"](
                F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], is_causal=True)[:, 0]
            )
        return self.output(self.norm(h))


def register_optim_in_bwd_hooks(model, optim_dict):
    def optim_step(param):
        optim_dict[param].step()
        optim_dict[param].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(optim_step)


class FullFinetuneRecipe:
    def __init__(self, cfg):
        self.cfg, self.model = cfg, TransformerDecoder()
        self.optimizer = None
        if cfg["optimizer_in_bwd"]:
            optim_dict = {p: torch.optim.SGD([p], lr=cfg["lr"]) for p in self.model.parameters()}
            register_optim_in_bwd_hooks(self.model, optim_dict)  # cause
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg["lr"])

    def loss_step(self, tokens):
        logits = self.model(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    def train(self):
        moves = []
        for _ in range(self.cfg["steps"]):
            before = [p.detach().clone() for p in self.model.parameters()]
            loss = self.loss_step(torch.randint(0, 24, (self.cfg["batch_size"], 9)))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg["max_norm"])  # also
            if self.optimizer is not None:
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
            delta = [(p.detach() - b).norm() for p, b in zip(self.model.parameters(), before)]
            moves.append(torch.stack(delta).norm().item() / self.cfg["lr"])
        return moves


def run():
    torch.manual_seed(0)
    return FullFinetuneRecipe(CFG).train()


def verify(outcome):
    assert all(move > 2 * CFG["max_norm"] for move in outcome), outcome


TRUTH = Truth(
    fault="the hooks step and clear during backward: clip_grad_norm_() finds no gradient and clips nothing",
    names=("clip_grad_norm_",),
    repair=('self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg["lr"])',),
)
