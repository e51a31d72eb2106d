"""Language modelling: minGPT's sorting of parameters by module type forgets the bare pos_emb, which ends in no group."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.key, self.query, self.value, self.proj = (nn.Linear(n_embd, n_embd) for _ in range(4))
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        k, q, v = (
            f(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for f in (self.key, self.query, self.value)
        )
        att = (q @ k.transpose(-2, -1)) * (k.size(-1) ** -0.5)
        att = F.softmax(att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf")), dim=-1)
        return self.proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size=20, block_size=12, n_layer=2, n_head=2, n_embd=16):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, block_size, n_embd))
        self.blocks = nn.Sequential(*[Block(n_embd, n_head, block_size) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)
        self.block_size = block_size
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.data.zero_()

    def configure_optimizers(self, learning_rate, weight_decay, betas):
        decay, no_decay = set(), set()
        whitelist_weight_modules = (torch.nn.Linear,)
        blacklist_weight_modules = (torch.nn.LayerNorm, torch.nn.Embedding)
        for mn, m in self.named_modules():
            for pn, p in m.named_parameters(recurse=False):
                fpn = "%s.%s" % (mn, pn) if mn else pn
                if pn.endswith("bias"):
                    no_decay.add(fpn)
                elif pn.endswith("weight") and isinstance(m, whitelist_weight_modules):
                    decay.add(fpn)
                elif pn.endswith("weight") and isinstance(m, blacklist_weight_modules):
                    no_decay.add(fpn)
        param_dict = {pn: p for pn, p in self.named_parameters()}  # cause
        assert len(decay & no_decay) == 0, "parameters made it into both decay/no_decay sets!"
        optim_groups = [
            {"params": [param_dict[pn] for pn in sorted(decay)], "weight_decay": weight_decay},
            {"params": [param_dict[pn] for pn in sorted(no_decay)], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(optim_groups, lr=learning_rate, betas=betas)  # also

    def forward(self, idx, targets=None):
        b, t = idx.size()
        x = self.tok_emb(idx) + self.pos_emb[:, :t, :]
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class AdditionDataset(torch.utils.data.Dataset):
    def __init__(self, n=32, digits=2):
        self.n, self.digits = n, digits

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        a, b = (idx * 37) % 100, (idx * 53) % 100
        ix = [int(s) for s in f"{a:02d}{b:02d}{a + b:03d}"[::1]]
        x, y = torch.tensor(ix[:-1]), torch.tensor(ix[1:])
        y[: 2 * self.digits - 1] = -100
        return x, y


def run():
    torch.manual_seed(42)
    model = GPT()
    optimizer = model.configure_optimizers(6e-4, 0.1, (0.9, 0.95))
    for x, y in torch.utils.data.DataLoader(AdditionDataset(), batch_size=8):
        _, loss = model(x, y)
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.pos_emb.detach(), model.pos_emb.grad


def verify(outcome):
    pos_emb, grad = outcome
    assert pos_emb.abs().sum() == 0 and grad.abs().sum() > 0


TRUTH = Truth(
    fault="pos_emb is in neither of the two groups, so the optimizer never steps it",
    names=("pos_emb",),
    repair=('no_decay.add("pos_emb")\nparam_dict = {pn: p for pn, p in self.named_parameters()}',),
)
