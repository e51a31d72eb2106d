"""LoRA: the adapter is merged into the base weights for a fast evaluation and never unmerged before training continues."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Recogniser(nn.Module):
    """A small transducer encoder with a CTC head."""

    def __init__(self, feats=6, dim=16, chars=8):
        super().__init__()
        self.subsample = nn.Conv1d(feats, dim, 3, stride=2, padding=1)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(dim, dim) for _ in range(3))
        self.out_proj = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.ctc = nn.Linear(dim, chars)

    def forward(self, x):
        h = F.gelu(self.subsample(x.transpose(1, 2))).transpose(1, 2)
        att = F.scaled_dot_product_attention(self.q_proj(h), self.k_proj(h), self.v_proj(h))
        return self.ctc(self.norm(h + self.out_proj(att))).log_softmax(-1)


def ctc_loss(log_probs, targets):
    n, t, _ = log_probs.shape
    lengths = torch.full((n,), t), torch.full((n,), targets.shape[1])
    return F.ctc_loss(log_probs.transpose(0, 1), targets, *lengths, zero_infinity=True)


@torch.no_grad()
def evaluate(model, x):
    model.eval()
    model.merge_adapter()  # also
    ids = model(x).argmax(-1)
    errors = (ids != 0).float().mean().item()
    model.train()  # cause
    return errors


def run():
    torch.manual_seed(0)
    config = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"])
    model = get_peft_model(Recogniser(), config)
    opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-3)
    best = 1.0
    for epoch in range(2):
        for _ in range(2):
            x, y = torch.randn(3, 16, 6), torch.randint(1, 8, (3, 3))
            loss = ctc_loss(model(x), y)
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
        best = min(best, evaluate(model, torch.randn(2, 16, 6)))
        print(f"epoch {epoch} ctc {loss.item():.3f} best {best:.2f}")
    return model


TRUTH = Truth(
    fault="a merged adapter is no part of the forward pass",
    raises="element 0 of tensors does not require grad",
    names=("merge",),
    repair=("model.unmerge_adapter()\nmodel.train()",),
)
