"""Translation: multiply_grads slipped into the loop over the update's batches, so that earlier gradients are scaled again and again."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

PAD = 1


def label_smoothed_nll_loss(lprobs, target, epsilon, ignore_index):
    target = target.unsqueeze(-1)
    nll_loss = -lprobs.gather(dim=-1, index=target)
    smooth_loss = -lprobs.sum(dim=-1, keepdim=True)
    pad_mask = target.eq(ignore_index)
    nll_loss.masked_fill_(pad_mask, 0.0)
    smooth_loss.masked_fill_(pad_mask, 0.0)
    eps_i = epsilon / (lprobs.size(-1) - 1)
    return ((1.0 - epsilon - eps_i) * nll_loss + eps_i * smooth_loss).sum()


class Criterion:
    def __init__(self, label_smoothing=0.1):
        self.eps = label_smoothing

    def __call__(self, model, sample):
        net_output = model(sample["src"], sample["prev"])
        lprobs = F.log_softmax(net_output, dim=-1).view(-1, net_output.size(-1))
        loss = label_smoothed_nll_loss(lprobs, sample["target"].view(-1), self.eps, PAD)
        return loss, sample["ntokens"]


class TransformerModel(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim, PAD)
        nn.init.normal_(self.embed_tokens.weight, mean=0, std=dim**-0.5)
        nn.init.constant_(self.embed_tokens.weight[PAD], 0)
        self.encoder = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)

    def forward(self, src, prev):
        memory = self.encoder(self.embed_tokens(src), src_key_padding_mask=src.eq(PAD))
        causal = torch.triu(torch.ones(prev.size(1), prev.size(1), dtype=torch.bool), 1)
        x = self.decoder(self.embed_tokens(prev), memory, tgt_mask=causal, memory_key_padding_mask=src.eq(PAD))
        return F.linear(x, self.embed_tokens.weight)


class FairseqOptimizer:
    def __init__(self, params, **kwargs):
        self.params = list(params)
        self.inner = torch.optim.Adam(self.params, **kwargs)

    def backward(self, loss):
        loss.backward()

    def multiply_grads(self, c):
        for p in self.params:
            if p.grad is not None:
                p.grad.data.mul_(c)

    def clip_grad_norm(self, max_norm):
        return torch.nn.utils.clip_grad_norm_(self.params, max_norm)


class Trainer:
    def __init__(self, model, criterion, clip_norm=5.0):
        self.model, self.criterion, self.clip_norm = model, criterion, clip_norm
        self.optimizer = FairseqOptimizer(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
        self.num_updates = 0

    def train_step(self, samples):
        self.model.train()
        self.optimizer.inner.zero_grad()
        sample_size = sum(s["ntokens"] for s in samples)
        for sample in samples:
            loss, _ = self.criterion(self.model, sample)
            self.optimizer.backward(loss)
            self.optimizer.multiply_grads(1.0 / sample_size)  # cause
        grad_norm = self.optimizer.clip_grad_norm(self.clip_norm)  # cause
        self.optimizer.inner.step()
        self.num_updates += 1
        return grad_norm

    def expected(self, samples, p):
        grads = [torch.autograd.grad(self.criterion(self.model, s)[0], p)[0] for s in samples]
        return sum(grads) / sum(s["ntokens"] for s in samples)


def make_sample(n, length):
    tokens = torch.randint(4, 24, (n, length))
    target = tokens.clone()
    target[-1, -2:] = PAD
    prev = torch.cat([torch.full((n, 1), 2), target[:, :-1]], 1)
    return {"src": tokens, "prev": prev, "target": target, "ntokens": int(target.ne(PAD).sum())}


def run():
    torch.manual_seed(1)
    trainer = Trainer(TransformerModel(), Criterion())
    agree = []
    for _ in range(3):
        samples = [make_sample(3, 6), make_sample(4, 5)]
        p = trainer.model.decoder.linear1.weight
        wanted = trainer.expected(samples, p)
        trainer.train_step(samples)
        agree.append(torch.allclose(wanted, p.grad, atol=1e-6))
    return agree


def verify(agree):
    assert not any(agree)


TRUTH = Truth(
    fault="gradients of the earlier batches of an update are scaled once more with every further batch",
    names=("mul_", "multiply_grads"),
    repair=(
        "",
        "self.optimizer.multiply_grads(1.0 / sample_size)\ngrad_norm = self.optimizer.clip_grad_norm(self.clip_norm)",
    ),
)
