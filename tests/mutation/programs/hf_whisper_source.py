# inlined: transformers.models.whisper.modeling_whisper
import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperForConditionalGeneration


def run():
    config = WhisperConfig(
        vocab_size=32,
        num_mel_bins=4,
        d_model=8,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_source_positions=8,
        max_target_positions=8,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    )
    model = WhisperForConditionalGeneration(config).train()
    model.freeze_encoder()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for step in range(4):
        features = torch.randn(2, 4, 16)
        labels = torch.randint(3, 32, (2, 5))
        outputs = model(input_features=features, labels=labels)
        loss = outputs.loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
