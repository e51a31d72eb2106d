"""Layer-wise distillation: the hook is registered anew in each step and never removed; features pile up."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TinyBert(nn.Module):
    def __init__(self, n_layers, dim=16, vocab=30):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True) for _ in range(n_layers)
        )
        self.cls = nn.Linear(dim, 2)

    def forward(self, ids):
        h = self.emb(ids)
        for layer in self.layers:
            h = layer(h)
        return self.cls(h[:, 0])


def hidden_states(model, picked, ids, store):
    for i in picked:
        model.layers[i].register_forward_hook(lambda m, a, out: store.append(out))  # cause
    n = len(store)
    logits = model(ids)
    return store[n : n + len(picked)], logits


def run():
    torch.manual_seed(0)
    teacher, student = TinyBert(4).eval(), TinyBert(2)
    opt = torch.optim.AdamW(student.parameters(), lr=5e-4)
    t_store, s_store, counts = [], [], []
    for step in range(4):
        ids = torch.randint(0, 30, (4, 6))
        with torch.no_grad():
            t_hid, t_logits = hidden_states(teacher, (1, 3), ids, t_store)
        s_hid, s_logits = hidden_states(student, (0, 1), ids, s_store)
        loss = F.kl_div(s_logits.log_softmax(-1), t_logits.softmax(-1), reduction="batchmean")
        loss = loss + sum(F.mse_loss(s, t) for s, t in zip(s_hid, t_hid))
        opt.zero_grad()
        loss.backward()
        opt.step()
        t_store.clear()
        s_store.clear()
        counts.append(len(student.layers[0]._forward_hooks))
        print(step, round(loss.item(), 4))
    return counts


def verify(counts):
    assert counts == [1, 2, 3, 4]


TRUTH = Truth(
    fault="hooks are added in each step",
    names=("register_forward_hook",),
    repair=(
        "model.layers[i]._forward_hooks.clear()\n"
        "model.layers[i].register_forward_hook(lambda m, a, out: store.append(out))",
    ),
)
