# inlined: llms_from_scratch.llama3
import torch
import torch.nn.functional as F
from llms_from_scratch.llama3 import Llama3Model

CONFIG = {
    "vocab_size": 40,
    "context_length": 16,
    "emb_dim": 8,
    "n_heads": 2,
    "n_layers": 1,
    "hidden_dim": 16,
    "n_kv_groups": 1,
    "rope_base": 10_000.0,
    "dtype": torch.float32,
    "rope_freq": {
        "factor": 32.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_context_length": 16,
    },
}


def run():
    model = Llama3Model(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ema = 0.0
    for step in range(4):
        tokens = torch.randint(0, 40, (2, 9))
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        logits = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        ema = 0.9 * ema + 0.1 * loss.item()
    return model, ema, norm.item()
