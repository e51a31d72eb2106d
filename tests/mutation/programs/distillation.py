import torch
from torch import nn
import torch.nn.functional as F


def run():
    teacher = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    student = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 4))
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher.eval()
    student.train()
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
    T, alpha = 2.0, 0.5
    running_loss = 0.0
    for step in range(4):
        inputs, labels = torch.randn(8, 10), torch.randint(0, 4, (8,))
        with torch.no_grad():
            teacher_logits = teacher(inputs)
        student_logits = student(inputs)
        soft_targets = F.softmax(teacher_logits / T, dim=-1)
        soft_prob = F.log_softmax(student_logits / T, dim=-1)
        soft_loss = F.kl_div(soft_prob, soft_targets, reduction="batchmean") * T**2
        label_loss = F.cross_entropy(student_logits, labels)
        loss = alpha * soft_loss + (1 - alpha) * label_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    return student, running_loss
