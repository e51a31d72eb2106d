"""The reference of a PPO step is the model without adapters; nobody turns them on again, and the value head learns alone."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from tests.practice.truth import Truth


class WithValue(nn.Module):
    def __init__(self):
        super().__init__()
        config = GPT2Config(vocab_size=20, n_positions=16, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0, attn_pdrop=0)
        self.lm = get_peft_model(
            GPT2LMHeadModel(config), LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True)
        )
        self.v_head = nn.Linear(8, 1)

    def forward(self, ids):
        out = self.lm(input_ids=ids, output_hidden_states=True)
        logps = out.logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
        return logps, self.v_head(out.hidden_states[-1][:, :-1]).squeeze(-1)

    @torch.no_grad()
    def reference_logps(self, ids):
        self.lm.disable_adapter_layers()  # cause
        return self(ids)[0]


def run():
    torch.manual_seed(0)
    model = WithValue()
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=1e-2)
    start = {n: p.detach().clone() for n, p in model.lm.named_parameters() if "lora_B" in n}
    for _ in range(2):
        ids = torch.randint(20, (3, 8))
        with torch.no_grad():
            old_logps, old_values = model(ids)
        ref = model.reference_logps(ids)
        returns = torch.randn(3, 1) - 0.1 * (old_logps - ref)
        advantage = returns - old_values
        logps, values = model(ids)
        ratio = (logps - old_logps).exp()
        policy_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        loss = policy_loss + 0.5 * F.mse_loss(values, returns)
        opt.zero_grad()
        loss.backward()
        opt.step()
    now = dict(model.lm.named_parameters())
    return all(torch.equal(value, now[name]) for name, value in start.items())


def verify(unmoved):
    assert unmoved


TRUTH = Truth(
    fault="the adapters stay disabled, so they take no part and do not learn",
    names=("lora",),
    repair=("with self.lm.disable_adapter():\n    return self(ids)[0]",),
)
