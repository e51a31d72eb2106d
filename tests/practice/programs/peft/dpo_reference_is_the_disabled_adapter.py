"""DPO with PEFT: the reference is the same model with its adapter disabled; the B matrices start at zero, so step one has margin 0."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth

BETA, VOCAB = 0.5, 11


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 8)
        self.up, self.down, self.out = nn.Linear(8, 16), nn.Linear(16, 8), nn.Linear(8, VOCAB)

    def forward(self, ids):
        h = self.embed(ids)
        h = h.cumsum(1) / torch.arange(1, ids.shape[1] + 1)[:, None]
        return self.out(h + self.down(F.gelu(self.up(h))))


def logp(model, ids, prompt):
    lp = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return lp[:, prompt - 1 :].sum(1)


def dpo(model, chosen, rejected):
    both = torch.cat([chosen, rejected])
    policy_w, policy_l = logp(model, both, 2).chunk(2)
    with torch.no_grad(), model.disable_adapter():
        ref_w, ref_l = logp(model, both, 2).chunk(2)
    margin = BETA * ((policy_w - ref_w) - (policy_l - ref_l))
    return -F.logsigmoid(margin).mean(), margin.detach()


def run():
    torch.manual_seed(0)
    base = TinyLM()
    original = {k: v.clone() for k, v in base.state_dict().items()}
    model = get_peft_model(base, LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=["up", "down"]))
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-2)
    log = []
    for _ in range(3):
        prompt = torch.randint(VOCAB, (5, 2))
        chosen, rejected = (torch.cat([prompt, torch.randint(VOCAB, (5, 4))], 1) for _ in range(2))
        state = {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}
        loss, margin = dpo(model, chosen, rejected)
        opt.zero_grad()
        loss.backward()
        log.append(
            (
                chosen,
                rejected,
                state,
                margin,
                {n: p.grad.clone() for n, p in model.named_parameters() if p.requires_grad},
            )
        )
        opt.step()
    return model, original, log


def forward(w, lora, ids):
    h = w["embed.weight"][ids].cumsum(1) / torch.arange(1, ids.shape[1] + 1)[:, None]
    lin = lambda n, x: F.linear(x, w[n + ".weight"] + (2 * lora[n][1] @ lora[n][0] if lora else 0), w[n + ".bias"])
    return F.linear(h + lin("down", F.gelu(lin("up", h))), w["out.weight"], w["out.bias"])


def verify(outcome):
    model, original, log = outcome
    assert not log[0][3].any() and log[1][3].any()
    for chosen, rejected, state, margin, grads in log:
        leaf = {n: p.clone().requires_grad_() for n, p in state.items()}
        lora = {k: [next(p for n, p in leaf.items() if f".{k}.lora_{x}" in n) for x in "AB"] for k in ("up", "down")}
        diff = sum(
            s
            * (logp(lambda i: forward(original, lora, i), ids, 2) - logp(lambda i: forward(original, None, i), ids, 2))
            for s, ids in ((1, chosen), (-1, rejected))
        )
        assert torch.allclose(BETA * diff, margin, atol=1e-4)
        for (n, _), g in zip(leaf.items(), torch.autograd.grad(F.softplus(-BETA * diff).mean(), list(leaf.values()))):
            assert torch.allclose(g, grads[n], atol=1e-5), n
    base = model.unload().state_dict()
    assert all(torch.equal(base[k], v) for k, v in original.items())


TRUTH = Truth()
