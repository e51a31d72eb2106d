# inlined: transformers.models.mixtral.modeling_mixtral
import torch
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralForCausalLM


def run():
    config = MixtralConfig(
        vocab_size=32,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_local_experts=2,
        num_experts_per_tok=2,
        output_router_logits=True,
        router_aux_loss_coef=0.02,
        use_cache=False,
    )
    model = MixtralForCausalLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    accumulation, logged = 2, []
    for step in range(8):
        ids = torch.randint(3, 32, (2, 6))
        outputs = model(input_ids=ids, labels=ids)
        loss = outputs.loss / accumulation
        loss.backward()
        if (step + 1) % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
        logged.append(outputs.aux_loss.item())
    return model, logged
