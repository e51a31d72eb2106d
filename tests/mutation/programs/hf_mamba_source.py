# inlined: transformers.models.mamba.modeling_mamba
import torch
from transformers import MambaConfig
from transformers.models.mamba.modeling_mamba import MambaForCausalLM


def run():
    config = MambaConfig(
        vocab_size=32,
        hidden_size=8,
        state_size=4,
        num_hidden_layers=1,
        conv_kernel=2,
        time_step_rank=2,
        use_cache=False,
    )
    model = MambaForCausalLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    running = 0.0
    for step in range(4):
        ids = torch.randint(0, 32, (2, 5))
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    return model, running
