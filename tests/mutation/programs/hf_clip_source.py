# inlined: transformers.models.clip.modeling_clip
import torch
from transformers import CLIPConfig
from transformers.models.clip.modeling_clip import CLIPModel


def run():
    common = dict(hidden_size=8, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    config = CLIPConfig(
        text_config=dict(common, vocab_size=32, max_position_embeddings=8, eos_token_id=31, bos_token_id=0),
        vision_config=dict(common, image_size=8, patch_size=4),
        projection_dim=8,
    )
    model = CLIPModel(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(4):
        ids = torch.randint(1, 31, (3, 6))
        ids[:, -1] = 31
        images = torch.randn(3, 3, 8, 8)
        outputs = model(input_ids=ids, pixel_values=images)
        logits = outputs.logits_per_image
        targets = torch.arange(3)
        image_loss = torch.nn.functional.cross_entropy(logits, targets)
        text_loss = torch.nn.functional.cross_entropy(logits.t(), targets)
        loss = (image_loss + text_loss) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6)
    return model
