"""Language modelling: Transformer-XL's memories, detached and rolled in place, with truncated backpropagation; healthy."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RelAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d_head = n_head, d_model // n_head
        self.q_net = nn.Linear(d_model, d_model, bias=False)
        self.kv_net = nn.Linear(d_model, 2 * d_model, bias=False)
        self.o_net = nn.Linear(d_model, d_model, bias=False)
        self.layer_norm = nn.LayerNorm(d_model)

    def forward(self, w, mems, mask, bias):
        cat = torch.cat([mems, w], 1)
        q = self.q_net(w)
        k, v = torch.chunk(self.kv_net(cat), 2, dim=-1)
        q, k, v = (t.view(t.size(0), t.size(1), self.n_head, self.d_head) for t in (q, k, v))
        attn_score = torch.einsum("bind,bjnd->bnij", q, k)
        attn_score.mul_(self.d_head ** -0.5)
        attn_score = attn_score + bias
        attn_prob = F.softmax(attn_score.masked_fill_(mask, float("-inf")), dim=-1)
        vec = torch.einsum("bnij,bjnd->bind", attn_prob, v).flatten(2)
        return self.layer_norm(w + self.o_net(vec))


class MemTransformerLM(nn.Module):
    def __init__(self, vocab=30, d_model=16, n_layer=2, n_head=2, tgt_len=6, mem_len=8):
        super().__init__()
        self.word_emb = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList(RelAttention(d_model, n_head) for _ in range(n_layer))
        self.r_bias = nn.Parameter(torch.zeros(tgt_len + mem_len))
        self.out = nn.Linear(d_model, vocab)
        self.out.weight = self.word_emb.weight
        self.mem_len = mem_len

    def init_mems(self, bsz):
        return [torch.zeros(bsz, self.mem_len, self.word_emb.embedding_dim) for _ in range(len(self.layers))]

    def _update_mems(self, hids, mems):
        with torch.no_grad():
            for mem, hid in zip(mems, hids):
                mem.copy_(torch.cat([mem, hid], 1)[:, -self.mem_len:].detach())
        return mems

    def forward(self, data, target, mems):
        qlen, mlen = data.size(1), self.mem_len
        dist = (torch.arange(qlen)[:, None] + mlen - torch.arange(mlen + qlen)[None])
        mask = dist < 0
        bias = self.r_bias[dist.clamp(min=0)]
        core, hids = self.word_emb(data), []
        for layer, mem in zip(self.layers, [m.clone() for m in mems]):
            hids.append(core)
            core = layer(core, mem, mask, bias)
        loss = F.cross_entropy(self.out(core).flatten(0, 1), target.flatten(), reduction="none")
        return loss, self._update_mems(hids, mems)


def evaluate(model, text, tgt_len):
    training, model.training = model.training, False
    model.eval()
    total, mems = 0.0, model.init_mems(text.size(0))
    with torch.no_grad():
        for i in range(0, text.size(1) - 1 - tgt_len, tgt_len):
            loss, mems = model(text[:, i:i + tgt_len], text[:, i + 1:i + 1 + tgt_len], mems)
            total += loss.mean().item()
    model.train(training)
    return total


def run():
    torch.manual_seed(1111)
    tgt_len, text = 6, torch.randint(0, 30, (4, 31))
    model = MemTransformerLM(tgt_len=tgt_len)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    mems = model.init_mems(4)
    model.train()
    losses = []
    for i in range(0, 24, tgt_len):
        model.zero_grad()
        loss, mems = model(text[:, i:i + tgt_len], text[:, i + 1:i + 1 + tgt_len], mems)
        loss.float().mean().type_as(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        losses.append(loss.mean().item())
        evaluate(model, text, tgt_len)
    return before, model, mems


def verify(outcome):
    before, model, mems = outcome
    assert model.training
    for n, p in model.named_parameters():
        assert not torch.equal(p, before[n]), n
    assert all(not m.requires_grad and m.abs().sum() > 0 for m in mems)


TRUTH = Truth()
