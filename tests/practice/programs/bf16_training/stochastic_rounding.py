"""AdamW for bfloat16 weights by hand: small updates survive, as the weights are rounded at random through integers."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def copy_stochastic_(target, source):
    """Round float32 to bfloat16, up or down with the probability of the bits that are cut off."""
    noise = torch.randint_like(source, dtype=torch.int32, low=0, high=1 << 16)
    noise.add_(source.view(dtype=torch.int32))
    noise.bitwise_and_(-65536)
    target.copy_(noise.view(dtype=torch.float32))


class AdamWBF16(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p, dtype=torch.float32)
                    state["exp_avg_sq"] = torch.zeros_like(p, dtype=torch.float32)
                state["step"] += 1
                grad, weight = p.grad.float(), p.float()
                state["exp_avg"].lerp_(grad, 1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                denom = (state["exp_avg_sq"] / (1 - beta2 ** state["step"])).sqrt_().add_(group["eps"])
                weight.mul_(1 - lr * group["weight_decay"])
                weight.addcdiv_(state["exp_avg"], denom, value=-lr / (1 - beta1 ** state["step"]))
                if p.dtype == torch.bfloat16:
                    copy_stochastic_(p, weight)
                else:
                    p.copy_(weight)


class CaptionDecoder(nn.Module):
    def __init__(self, vocab=24, dim=16, image=12):
        super().__init__()
        self.image_proj, self.embed = nn.Linear(image, dim), nn.Embedding(vocab, dim)
        self.rnn, self.out = nn.GRUCell(dim, dim), nn.Linear(dim, vocab)

    def forward(self, image, tokens):
        h, logits = self.image_proj(image).tanh(), []
        for x in self.embed(tokens).unbind(1):
            h = self.rnn(x, h)
            logits.append(self.out(h))
        return torch.stack(logits, 1).float()


def run():
    torch.manual_seed(0)
    model = CaptionDecoder().to(torch.bfloat16)
    optimizer = AdamWBF16(model.parameters(), lr=2e-4)
    start = [p.detach().clone() for p in model.parameters()]
    for _ in range(5):
        image, tokens = torch.randn(8, 12, dtype=torch.bfloat16), torch.randint(0, 24, (8, 7))
        logits = model(image, tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    changed = [(p != s).float().mean().item() for p, s in zip(model.parameters(), start)]
    return changed, {p.dtype for p in model.parameters()}


def verify(outcome):
    changed, dtypes = outcome
    assert min(changed) > 0.1 and dtypes == {torch.bfloat16}, outcome


TRUTH = Truth()
