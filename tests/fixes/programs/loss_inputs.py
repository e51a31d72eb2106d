"""Losses that are given scores, probabilities, the target first, or shapes that do not fit (AG307)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 4), torch.tensor([0, 1, 2, 0, 1])
out = net(x)
"""
LEARN = """
loss.backward()
optimizer.step()
"""
COLUMN = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 4), torch.arange(5.0)
out = net(x)
"""

CASES = {
    "a tensor is compared with itself": case(
        "AG307",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept, target = {}, torch.ones(3, 2)
kept["out"] = net(torch.ones(3, 4))
kept["out"] = target
loss = nn.functional.mse_loss(kept["out"], kept["out"])
total = loss + net(torch.ones(3, 4)).square().mean()
total.backward()
optimizer.step()
""",
        by(
            "Pass the prediction and the target as two tensors",
            'kept["out"] = target',
            'kept["target"] = target',
            'kept["out"], kept["out"])',
            'kept["out"], kept["target"])',
        ),
        by(
            "two entries that were stored under one key, refer to the same tensor",
            'kept["out"] = target',
            'kept["other"] = target',
            'kept["out"], kept["out"])',
            'kept["out"], kept["other"])',
        ),
        symptom="loss.item() == 0",
    ),
    "nll_loss is given scores": case(
        "AG307",
        NET + "loss = F.nll_loss(out, y)" + LEARN,
        by("Apply log_softmax first", "F.nll_loss(out, y)", "F.nll_loss(out.log_softmax(dim=1), y)"),
        by("cross_entropy() on the logits", "F.nll_loss(out, y)", "F.cross_entropy(out, y)"),
        symptom="not torch.allclose(loss, F.cross_entropy(out, y))",
    ),
    "kl_div is given probabilities": case(
        "AG307",
        NET
        + """
goal = torch.full((5, 3), 1 / 3)
loss = F.kl_div(out.softmax(dim=1), goal, reduction="batchmean")
"""
        + LEARN,
        by("Use log_softmax instead of softmax", "out.softmax", "out.log_softmax"),
        symptom="loss < 0",
    ),
    "kl_div is given probabilities of two outcomes": case(
        "AG307",
        NET
        + """
goal = torch.full((5, 3), 1 / 3)
loss = F.kl_div(torch.sigmoid(out), goal, reduction="batchmean")
"""
        + LEARN,
        by("Use logsigmoid instead of sigmoid", "torch.sigmoid(out)", "F.logsigmoid(out)"),
        symptom="loss < -1.5",
    ),
    "cross_entropy is given the target first": case(
        "AG307",
        NET + "loss = F.cross_entropy(F.one_hot(y, 3).float(), out)" + LEARN,
        by(
            "cross_entropy(input, target) takes the prediction first",
            "F.cross_entropy(F.one_hot(y, 3).float(), out)",
            "F.cross_entropy(out, F.one_hot(y, 3).float())",
        ),
        symptom="not torch.allclose(loss, F.cross_entropy(out, y))",
    ),
    "a column is compared with a row": case(
        "AG307",
        COLUMN + "loss = (out - y).pow(2).mean()" + LEARN,
        by("`.squeeze(1)` on the tensor of shape [5, 1]", "(out - y)", "(out.squeeze(1) - y)"),
        by("`.unsqueeze(1)` on the tensor of shape [5]", "(out - y)", "(out - y.unsqueeze(1))"),
        symptom="not torch.allclose(loss, F.mse_loss(out[:, 0], y))",
    ),
}
