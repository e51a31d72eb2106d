"""Saved activations are packed in bfloat16 to save memory, and handed back as they are."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Compressed:
    def __init__(self, threshold=16):
        self.threshold = threshold
        self.bytes_saved = 0

    def pack(self, tensor):
        if tensor.is_floating_point() and tensor.numel() > self.threshold and not isinstance(tensor, nn.Parameter):
            self.bytes_saved += tensor.numel() * 2
            return tensor.dtype, tensor.to(torch.bfloat16)
        return None, tensor

    def unpack(self, packed):
        dtype, tensor = packed
        return tensor  # cause


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.up, self.down = nn.Linear(dim, 16), nn.Linear(16, dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.down(F.silu(self.up(h))))


def run():
    torch.manual_seed(0)
    model, store = LM(), Compressed()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(2):
        ids = torch.randint(12, (3, 6))
        with torch.autograd.graph.saved_tensors_hooks(store.pack, store.unpack):  # also
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return store.bytes_saved


TRUTH = Truth(
    fault="what was packed in bfloat16 is not cast back",
    raises="expected scalar type BFloat16 but found Float",
    repair=("return tensor if dtype is None else tensor.to(dtype)",),
)
