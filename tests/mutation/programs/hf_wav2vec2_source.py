# inlined: transformers.models.wav2vec2.modeling_wav2vec2
import torch
from transformers import Wav2Vec2Config
from transformers.models.wav2vec2.modeling_wav2vec2 import Wav2Vec2ForCTC


def run():
    config = Wav2Vec2Config(
        vocab_size=12,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        conv_dim=(8, 8),
        conv_stride=(4, 2),
        conv_kernel=(8, 3),
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        mask_time_prob=0.0,
        mask_feature_prob=0.0,
        layerdrop=0.0,
        ctc_loss_reduction="mean",
        pad_token_id=0,
    )
    model = Wav2Vec2ForCTC(config).train()
    model.freeze_feature_encoder()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for step in range(4):
        speech = torch.randn(2, 200)
        labels = torch.randint(1, 12, (2, 4))
        outputs = model(input_values=speech, labels=labels)
        loss = outputs.loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model
