"""Optimizer steps fused into backward by post-accumulate hooks: the clipping after backward finds no gradient left."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Decoder(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gate, self.up, self.down = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.norm = nn.RMSNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.emb(ids)
        prefix = x.cumsum(1) / torch.arange(1, ids.shape[1] + 1)[None, :, None]
        h = self.norm(prefix)
        return self.head(x + self.down(F.silu(self.gate(h)) * self.up(h)))


class FusedBackward:
    """One small optimizer for each parameter, stepped as soon as its gradient is there."""

    def __init__(self, model, make):
        self.opts = {p: make([p]) for p in model.parameters()}
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(self.step)

    def step(self, p):
        self.opts[p].step()  # cause
        self.opts[p].zero_grad(set_to_none=True)

    def set_lr(self, lr):
        for opt in self.opts.values():
            opt.param_groups[0]["lr"] = lr


def run():
    torch.manual_seed(0)
    model = Decoder()
    fused = FusedBackward(model, lambda ps: torch.optim.SGD(ps, lr=1.0))
    norms, jumps = [], []
    for step in range(3):
        fused.set_lr(1.0 * (1 - step / 3))
        ids = torch.randint(0, 30, (4, 9))
        logits = 20 * model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        before = model.head.weight.detach().clone()
        loss.backward()
        total = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)  # also
        norms.append(total.item())
        jumps.append((model.head.weight.detach() - before).norm().item())
        print(f"step {step} loss {loss.item():.3f} norm {norms[-1]:.3f} head moved {jumps[-1]:.3f}")
    return norms, jumps


def verify(out):
    norms, jumps = out
    assert not any(norms) and jumps[0] > 0.11


TRUTH = Truth(
    fault="clipping comes after the gradients were used and cleared",
    names=("clip_grad_norm_",),
    repair=("nn.utils.clip_grad_norm_([p], max_norm=0.1)\nself.opts[p].step()",),
)
