# inlined: transformers.models.t5.modeling_t5
import torch
import torch.nn.functional as F
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5ForConditionalGeneration


def run():
    config = T5Config(
        vocab_size=32,
        d_model=8,
        d_kv=4,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        use_cache=False,
    )
    model = T5ForConditionalGeneration(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    losses = []
    for step in range(4):
        source, target = torch.randint(1, 32, (2, 6)), torch.randint(1, 32, (2, 4))
        decoder_input = model._shift_right(target)
        logits = model(input_ids=source, decoder_input_ids=decoder_input).logits
        loss = F.cross_entropy(logits.reshape(-1, 32), target.reshape(-1), label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return model, losses
