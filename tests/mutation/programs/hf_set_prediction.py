# inlined: transformers.models.yolos.modeling_yolos
import torch
import torch.nn.functional as F
from transformers import YolosConfig
from transformers.models.yolos.modeling_yolos import YolosForObjectDetection


def matched(logits, boxes, labels, targets):
    with torch.no_grad():
        probabilities = logits.softmax(-1)
        cost = torch.cdist(boxes, targets, p=1) - probabilities[:, labels]
        rows = []
        for column in range(len(labels)):
            taken = cost[:, column].clone()
            taken[rows] = float("inf")
            rows.append(int(taken.argmin()))
    return torch.tensor(rows)


def set_loss(outputs, labels, targets):
    total = 0.0
    for logits, boxes, label, target in zip(outputs.logits, outputs.pred_boxes, labels, targets):
        rows = matched(logits, boxes, label, target)
        classes = torch.full((len(logits),), logits.shape[-1] - 1)
        classes[rows] = label
        class_loss = F.cross_entropy(logits, classes)
        box_loss = F.l1_loss(boxes[rows], target)
        total = total + class_loss + 5 * box_loss
    return total / len(labels)


def run():
    config = YolosConfig(
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[8, 8],
        patch_size=4,
        num_channels=1,
        num_detection_tokens=5,
        use_mid_position_embeddings=False,
        num_labels=3,
    )
    model = YolosForObjectDetection(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(4):
        pixels = torch.randn(2, 1, 8, 8)
        labels = torch.randint(0, 3, (2, 2))
        targets = torch.rand(2, 2, 4)
        outputs = model(pixel_values=pixels)
        loss = set_loss(outputs, labels, targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return model
