"""R-Drop: the batch goes through the model twice, so that dropout differs, and the two answers are drawn together."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TextCnn(nn.Module):
    def __init__(self, vocab=50, dim=10, classes=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.convs = nn.ModuleList(nn.Conv1d(dim, 6, k, padding=k // 2) for k in (1, 3, 5))
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(18, classes)

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        h = torch.cat([F.relu(conv(x)).amax(-1) for conv in self.convs], dim=1)
        return self.fc(self.dropout(h))


def symmetric_kl(p, q):
    logp, logq = p.log_softmax(-1), q.log_softmax(-1)
    forward = F.kl_div(logp, logq, log_target=True, reduction="batchmean")
    return 0.5 * (forward + F.kl_div(logq, logp, log_target=True, reduction="batchmean"))


def parameter_groups(model, lr, weight_decay):
    plain = [p for n, p in model.named_parameters() if n.endswith("bias") or n.startswith("emb")]
    decayed = [p for n, p in model.named_parameters() if not (n.endswith("bias") or n.startswith("emb"))]
    return [{"params": plain, "weight_decay": 0.0, "lr": lr / 2}, {"params": decayed, "weight_decay": weight_decay}]


def run(alpha=4.0, accumulate=2):
    torch.manual_seed(0)
    model = TextCnn()
    opt = torch.optim.AdamW(parameter_groups(model, 3e-3, 0.01), lr=3e-3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, total_iters=3)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    model.train()
    divergences = []
    for step in range(8):
        ids = torch.randint(0, 50, (6, 9))
        labels = ids[:, 0] % 4
        first, second = model(ids), model(ids)
        ce = 0.5 * (F.cross_entropy(first, labels) + F.cross_entropy(second, labels))
        kl = symmetric_kl(first, second)
        ((ce + alpha * kl) / accumulate).backward()
        divergences.append(kl.item())
        if (step + 1) % accumulate == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
            print(f"step {step} ce {ce.item():.4f} kl {kl.item():.5f} norm {norm.item():.3f}")
    return model, start, divergences


TRUTH = Truth()


def verify(out):
    model, start, divergences = out
    assert all(not torch.equal(p, start[n]) for n, p in model.named_parameters()) and min(divergences) > 0
