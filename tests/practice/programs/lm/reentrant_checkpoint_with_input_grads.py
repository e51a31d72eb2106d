"""Reentrant checkpointing over a frozen base: the embeddings' output is made to need gradients by a hook."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Adapter(nn.Module):
    def __init__(self, dim, r=4):
        super().__init__()
        self.down, self.up = nn.Linear(dim, r), nn.Linear(r, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.base = nn.TransformerEncoderLayer(dim, 2, 2 * dim, 0.0, batch_first=True, norm_first=True)
        self.adapter = Adapter(dim)

    def forward(self, x, mask):
        return self.adapter(self.base(x, src_mask=mask))


class LM(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(3))
        self.head = nn.Linear(dim, vocab, bias=False)
        for n, p in self.named_parameters():
            p.requires_grad_("adapter" in n)

    def enable_input_require_grads(self):
        self.hook = self.embed.register_forward_hook(lambda m, i, output: output.requires_grad_(True))

    def forward(self, ids):
        x = self.embed(ids)
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        for block in self.blocks:
            x = checkpoint(block, x, mask, use_reentrant=True) if self.training else block(x, mask)
        return self.head(x)


def run():
    torch.manual_seed(0)
    model = LM()
    model.enable_input_require_grads()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    losses = []
    for _ in range(3):
        ids = torch.randint(20, (2, 6))
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.hook.remove()
    model.eval()
    with torch.no_grad():
        val = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).item()
    return model, losses, val


TRUTH = Truth()


def verify(out):
    model, losses, val = out
    assert all((p.grad is not None) == ("adapter" in n) for n, p in model.named_parameters())
    assert all(p.grad.abs().sum() > 0 for p in model.blocks[0].adapter.parameters())
    assert 0 < val < 100
