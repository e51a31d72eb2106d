"""Speech: the transducer loss computes its gradients in forward, and backward returns them whatever comes from above."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from tests.practice.truth import Truth


@dataclass
class RNNTConfig:
    input_dim: int = 6
    vocab: int = 5
    enc_dim: int = 10
    pred_dim: int = 8
    joint_dim: int = 12
    accum_grad: int = 4
    lr: float = 1e-2
    steps: int = 2
    blank: int = 0


def transducer_nll(log_probs, targets, blank):
    """-log P(targets | frames) of one utterance; log_probs is (T, U + 1, V)."""
    T, U1, _ = log_probs.shape
    rows = []
    for t in range(T):
        row = []
        for u in range(U1):
            ways = []
            if t > 0:
                ways.append(rows[t - 1][u] + log_probs[t - 1, u, blank])
            if u > 0:
                ways.append(row[u - 1] + log_probs[t, u - 1, targets[u - 1]])
            row.append(torch.logsumexp(torch.stack(ways), 0) if ways else log_probs.new_zeros(()))
        rows.append(row)
    return -(rows[-1][-1] + log_probs[T - 1, U1 - 1, blank])


class RNNTLossFn(torch.autograd.Function):
    """Fused: the gradient with respect to the logits is made together with the cost."""

    @staticmethod
    def forward(ctx, logits, targets, blank):
        with torch.enable_grad():
            x = logits.detach().requires_grad_()
            costs = torch.stack([transducer_nll(x[b].log_softmax(-1), targets[b], blank) for b in range(len(x))])
            cost = costs.mean()
            (grads,) = torch.autograd.grad(cost, x)
        ctx.save_for_backward(grads)
        return cost.detach()

    @staticmethod
    def backward(ctx, grad_output):
        (grads,) = ctx.saved_tensors
        return grads, None, None  # cause


class Encoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lstm = nn.LSTM(cfg.input_dim, cfg.enc_dim, batch_first=True)
        self.proj = nn.Linear(cfg.enc_dim, cfg.joint_dim)

    def forward(self, x):
        return self.proj(self.lstm(x)[0])


class Predictor(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.blank = cfg.blank
        self.embed = nn.Embedding(cfg.vocab, cfg.pred_dim)
        self.gru = nn.GRU(cfg.pred_dim, cfg.joint_dim, batch_first=True)

    def forward(self, y):
        y = torch.cat([torch.full_like(y[:, :1], self.blank), y], dim=1)
        return self.gru(self.embed(y))[0]


class Transducer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.encoder, self.predictor = Encoder(cfg), Predictor(cfg)
        self.out = nn.Linear(cfg.joint_dim, cfg.vocab)

    def forward(self, x, y):
        joint = torch.tanh(self.encoder(x)[:, :, None] + self.predictor(y)[:, None])
        logits = self.out(joint)
        return RNNTLossFn.apply(logits, y, self.cfg.blank)


class Executor:
    def __init__(self, cfg, model):
        self.cfg, self.model = cfg, model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
        self.norms = []

    def train(self, batches):
        self.model.train()
        for i, (x, y) in enumerate(batches):
            loss = self.model(x, y) / self.cfg.accum_grad
            loss.backward()
            if (i + 1) % self.cfg.accum_grad == 0:
                self.norms.append(self.model.out.weight.grad.norm().item())
                self.optimizer.step()
                self.optimizer.zero_grad()
        return self.norms


def run():
    torch.manual_seed(0)
    cfg = RNNTConfig()
    model = Transducer(cfg)
    one = (torch.randn(2, 5, cfg.input_dim), torch.randint(1, cfg.vocab, (2, 2)))
    single = torch.autograd.grad(model(*one), model.out.weight)[0].norm().item()
    norms = Executor(cfg, model).train([one] * cfg.accum_grad * cfg.steps)
    return single, norms, cfg.accum_grad


def verify(outcome):
    single, norms, n = outcome
    assert abs(norms[0] / single - n) < 1e-3


TRUTH = Truth(
    fault="backward ignores grad_output: the division by accum_grad never reaches the gradients",
    names=("RNNTLossFn",),
    repair=("return grads * grad_output, None, None",),
)
