"""AdaFactor by hand: `return` instead of `continue` at a parameter without gradient, what comes after it is never updated."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Adafactor(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, eps=(1e-30, 1e-3), clip=1.0, decay=-0.8):
        super().__init__(params, dict(lr=lr, eps=eps, clip=clip, decay=decay))

    @staticmethod
    def rms(t):
        return t.norm() / t.numel() ** 0.5

    @staticmethod
    def approx(row, col):
        r = (row / row.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1)
        return r * col.rsqrt().unsqueeze(-2)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    return  # cause
                grad, state = p.grad, self.state[p]
                factored = grad.dim() >= 2
                if not state:
                    state["step"] = 0
                    if factored:
                        state["row"] = torch.zeros(grad.shape[:-1])
                        state["col"] = torch.zeros(grad.shape[:-2] + grad.shape[-1:])
                    else:
                        state["sq"] = torch.zeros_like(grad)
                state["step"] += 1
                beta = 1.0 - state["step"] ** group["decay"]
                square = grad.square() + group["eps"][0]
                if factored:
                    state["row"].mul_(beta).add_(square.mean(-1), alpha=1 - beta)
                    state["col"].mul_(beta).add_(square.mean(-2), alpha=1 - beta)
                    update = self.approx(state["row"], state["col"]) * grad
                else:
                    state["sq"].mul_(beta).add_(square, alpha=1 - beta)
                    update = state["sq"].rsqrt() * grad
                update.div_((self.rms(update) / group["clip"]).clamp(min=1.0))
                p.add_(update, alpha=-group["lr"] * max(group["eps"][1], self.rms(p).item()))


class T5ish(nn.Module):
    def __init__(self, vocab=24, dim=12):
        super().__init__()
        self.shared = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.prompt = nn.Embedding(2, dim)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, source, target, use_prompt=False):
        x = self.shared(source)
        if use_prompt:
            x = torch.cat([self.prompt.weight.expand(len(x), -1, -1), x], 1)
        _, h = self.encoder(x)
        y, _ = self.decoder(self.shared(target), h)
        return self.lm_head(y)


def run():
    torch.manual_seed(0)
    model = T5ish()
    optimizer = Adafactor(model.parameters())
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(4):
        source = torch.randint(0, 24, (6, 7))
        target = source.flip(1)
        logits = model(source, target[:, :-1], use_prompt=False)
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: (p.grad is not None, not torch.equal(before[n], p)) for n, p in model.named_parameters()}


def verify(outcome):
    assert all(outcome[n][1] for n in outcome if n.startswith(("shared", "encoder")))
    assert not any(outcome[n][1] for n in outcome if n.startswith(("decoder", "lm_head")))
    assert outcome["lm_head.weight"][0] and outcome["decoder.weight_ih_l0"][0]


TRUTH = Truth(
    fault="the step returns at the first parameter without gradient (the unused prompt), the rest is skipped",
    names=("prompt", "decoder", "lm_head"),
    repair=("continue",),
)
