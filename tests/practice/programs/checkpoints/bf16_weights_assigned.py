"""Part of a bf16 release is loaded with assign=True: the backbone becomes bf16, the new head stays float32."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight)


class Backbone(nn.Module):
    def __init__(self, vocab=30, dim=8, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(
            nn.ModuleDict({"norm": RMSNorm(dim), "ffn": nn.Linear(dim, dim)}) for _ in range(depth)
        )
        self.norm = RMSNorm(dim)

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = h + F.silu(layer["ffn"](layer["norm"](h)))
        return self.norm(h)


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Backbone()
        self.value_head = nn.Linear(8, 1, bias=False)

    def forward(self, ids):
        return self.value_head(self.model(ids)[:, -1]).squeeze(-1)  # symptom


def release():
    """The published shard: bf16, and without our head."""
    torch.manual_seed(7)
    return {f"model.{k}": v.to(torch.bfloat16) for k, v in Backbone().state_dict().items()}


def run():
    state = release()
    torch.manual_seed(0)
    reward = RewardModel()
    missing, unexpected = reward.load_state_dict(state, strict=False, assign=True)  # cause
    assert not unexpected and all(k.startswith("value_head") for k in missing)
    opt = torch.optim.AdamW(reward.parameters(), lr=1e-3)
    for step in range(2):
        chosen, rejected = torch.randint(0, 30, (4, 6)), torch.randint(0, 30, (4, 6))
        loss = -F.logsigmoid(reward(chosen) - reward(rejected)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return reward


TRUTH = Truth(
    fault="the assigned parameters bring their own dtype",
    raises="expected m1 and m2 to have the same dtype",
    repair=("missing, unexpected = reward.load_state_dict(state, strict=False)",),
)
