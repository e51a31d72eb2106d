"""Liger-style fused linear + cross entropy: the gradients are computed chunk by chunk in forward and only scaled in backward."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class FusedLinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, target, chunk):
        valid = (target != -100).sum().clamp(min=1)
        grad_hidden = torch.empty_like(hidden)
        grad_weight = torch.zeros_like(weight)
        loss = hidden.new_zeros(())
        for start in range(0, len(hidden), chunk):
            h, t = hidden[start : start + chunk], target[start : start + chunk]
            logits = h @ weight.T
            mask = t != -100
            safe = t.clamp(min=0)
            lse = logits.logsumexp(-1)
            loss += ((lse - logits.gather(1, safe[:, None])[:, 0]) * mask).sum()
            logits.sub_(lse[:, None]).exp_()  # the buffer becomes its own gradient
            logits.scatter_add_(1, safe[:, None], -torch.ones_like(logits[:, :1]))
            logits.mul_((mask / valid)[:, None])
            torch.mm(logits, weight, out=grad_hidden[start : start + chunk])
            grad_weight.addmm_(logits.T, h)
        ctx.save_for_backward(grad_hidden, grad_weight)
        return loss / valid

    @staticmethod
    def backward(ctx, upstream):
        grad_hidden, grad_weight = ctx.saved_tensors
        if upstream.item() != 1.0:
            grad_hidden, grad_weight = grad_hidden * upstream, grad_weight * upstream
        return grad_hidden, grad_weight, None, None


class TinyLM(nn.Module):
    def __init__(self, fused):
        super().__init__()
        self.embed = nn.Embedding(30, 10)
        self.mix = nn.GRU(10, 10, batch_first=True)
        self.lm_head = nn.Linear(10, 30, bias=False)
        self.fused = fused

    def forward(self, ids, labels):
        h = self.mix(self.embed(ids))[0].reshape(-1, 10)
        if self.fused:
            return FusedLinearCrossEntropy.apply(h, self.lm_head.weight, labels.reshape(-1), 5)
        return F.cross_entropy(self.lm_head(h), labels.reshape(-1), ignore_index=-100)


def train(fused):
    torch.manual_seed(0)
    model = TinyLM(fused)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses, grads = [], []
    for step in range(3):
        ids = torch.randint(30, (3, 6))
        labels = ids.roll(-1, 1)
        labels[:, -1] = -100
        loss = model(ids, labels)
        opt.zero_grad()
        (loss if step else loss * 0.5).backward()
        losses.append(loss.detach())
        grads.append([p.grad.clone() for p in model.parameters()])
        opt.step()
    return losses, grads


def run():
    return train(True)


def verify(outcome):
    losses, grads = outcome
    wanted_losses, wanted = train(False)
    assert torch.allclose(torch.stack(losses), torch.stack(wanted_losses), atol=1e-5)
    for a, b in zip(grads, wanted):
        assert all(torch.allclose(x, y, atol=1e-6) for x, y in zip(a, b))
    assert len(set(map(float, losses))) == 3


TRUTH = Truth()
