"""NaN and Inf (AG304)."""

from __future__ import annotations

from tests.fixes.cases import by, case

BAD = "not loss.isfinite() or not all(p.isfinite().all() and p.grad.isfinite().all() for p in optimizer.param_groups[0]['params'])"


def trained(made: str, loss: str, shape: str = "4, 4") -> str:
    """A network whose output is called out, and one step on a loss of it."""
    return f"""
net = nn.Linear({shape})
x = torch.ones(3, {shape.partition(",")[0]})
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(x)
{made}
loss = {loss} + out.pow(2).mean()
loss.backward()
optimizer.step()
"""


CASES = {
    "missing values are masked after they were computed with": case(
        "AG304",
        """
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, target = torch.randn(6, 4), torch.randn(6, 2)
target[0, 0] = float("nan")
known = ~torch.isnan(target)
pred = net(x)
error = (pred - target).square()
loss = torch.where(known, error, torch.zeros_like(error)).sum() / known.sum()
loss.backward()
optimizer.step()
""",
        by("Replace them before `sub`", "(pred - target)", "(pred - torch.nan_to_num(target))"),
        by(
            "index both operands with the mask first",
            "error = (pred - target).square()\nloss = torch.where(known, error, torch.zeros_like(error)).sum() / known.sum()",
            "loss = (pred[known] - target[known]).square().mean()",
        ),
        symptom="net.weight.isnan().any()",
        values=True,
    ),
    "a query sees no key": case(
        "AG304",
        """
net = nn.MultiheadAttention(4, 2, batch_first=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, hidden = torch.randn(2, 3, 4), torch.tensor([[True, False, False], [True, True, True]])
out, _ = net(x, x, x, key_padding_mask=hidden)
loss = out.masked_fill(hidden.all(1)[:, None, None], 0.0).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Leave one key of each row visible: `hidden & ~hidden.all(-1, keepdim=True)`.",
            "key_padding_mask=hidden",
            "key_padding_mask=hidden & ~hidden.all(-1, keepdim=True)",
        ),
        by(
            "hidden hides all keys of a query, and a softmax over no key is NaN.",
            "[True, True, True]",
            "[True, False, True]",
        ),
        by(
            "Filling the result afterwards is too late for backward().",
            "key_padding_mask=hidden",
            "key_padding_mask=hidden & ~hidden.all(-1, keepdim=True)",
        ),
        symptom="bool(net.in_proj_weight.isnan().any())",
        values=True,
    ),
    "a root of zero": case(
        "AG304",
        trained("gap = (out - out.detach()).pow(2).sum(1)", "gap.sqrt().mean()"),
        by("`torch.sqrt(x + eps)`", "gap.sqrt()", "torch.sqrt(gap + 1e-8)"),
        by("torch.linalg.vector_norm", "gap.sqrt()", "torch.linalg.vector_norm(out - out.detach(), dim=1)"),
        symptom=BAD,
        values=True,
    ),
    "a division by zero": case(
        "AG304",
        trained("y = torch.tensor([1.0, 0.0, 2.0, 1.0])", "(out / y).mean()"),
        by("`x / torch.where(y == 0, 1, y)`", "out / y", "out / torch.where(y == 0, 1, y)"),
        symptom=BAD,
        values=True,
    ),
    "an exp overflows in the branch that is not used": case(
        "AG304",
        trained("large = out * 1000", "torch.where(large < 1, large.exp(), large).mean()"),
        by("`torch.exp(x.clamp(max=...))`", "large.exp()", "torch.exp(large.clamp(max=1))"),
        symptom=BAD,
        values=True,
    ),
    "a logarithm of zero": case(
        "AG304",
        trained("p = (out * 1000).softmax(1)", "-p.log().mean()"),
        by("`torch.log(x.clamp(min=eps))`", "p.log()", "torch.log(p.clamp(min=1e-8))"),
        by("log_softmax", "-p.log()", "-(out * 1000).log_softmax(1)"),
        symptom=BAD,
        values=True,
    ),
    "a logarithm of one more than minus one": case(
        "AG304",
        trained("p = (out.abs() + 100).sigmoid()", "-torch.log1p(-p).mean()"),
        by("`torch.log1p(x.clamp(min=-1 + 1e-6))`", "log1p(-p)", "log1p((-p).clamp(min=-1 + 1e-6))"),
        symptom=BAD,
        values=True,
    ),
    "a divergence over masked places": case(
        "AG304",
        trained(
            "logs = out.masked_fill(torch.eye(4)[:3] > 0, -torch.inf).log_softmax(1)",
            "(logs.exp() * (logs - logs.detach())).sum(1).mean()",
        ),
        by("`masked_fill(mask, -1e9)`", "-torch.inf", "-1e9"),
        symptom=BAD,
        values=True,
    ),
    "a logarithm of one minus a probability": case(
        "AG304",
        trained("p = (out.abs() + 100).sigmoid()", "-(1 - p).log().mean()"),
        by("`torch.log(x.clamp(min=eps))`", "(1 - p).log()", "torch.log((1 - p).clamp(min=1e-8))"),
        by("log1p", "-(1 - p).log()", "-torch.log1p(-p * 0.999)"),
        symptom=BAD,
        values=True,
    ),
    "a deviation of one value": case(
        "AG304",
        trained("one = out[:1]", "one.std(dim=0).mean()"),
        by("take it over more than one", "out[:1]", "out[:2]"),
        by("pass correction=0", "std(dim=0)", "std(dim=0, correction=0)"),
        symptom=BAD,
        values=True,
    ),
    "a variance of one value": case(
        "AG304",
        trained("one = out[:1]", "one.var(dim=0).mean()"),
        by("take it over more than one", "out[:1]", "out[:2]"),
        by("pass correction=0", "var(dim=0)", "var(dim=0, correction=0)"),
        symptom=BAD,
        values=True,
    ),
    "a row is masked throughout": case(
        "AG304",
        trained(
            "mask = torch.tensor([True, True, True, True])",
            "out.masked_fill(mask, float('-inf')).softmax(1).pow(2).mean()",
        ),
        by(
            "A row that is -inf throughout, or holds +inf, has no softmax: leave one position of each row unmasked",
            "[True, True, True, True]",
            "[True, True, True, False]",
        ),
        by("`masked_fill(mask, torch.finfo(x.dtype).min)`", "float('-inf')", "torch.finfo(out.dtype).min"),
        symptom=BAD,
        values=True,
    ),
    "a fractional power of a negative base": case(
        "AG304",
        trained("low = -out.abs() - 1", "(low ** 0.5).mean()"),
        by("`x.clamp(min=eps).pow(p)`", "low ** 0.5", "low.clamp(min=1e-8).pow(0.5)"),
        symptom=BAD,
        values=True,
    ),
    "an angle at its end": case(
        "AG304",
        trained("cosine = out / out.detach()", "cosine.acos().mean()"),
        by("`x.clamp(-1, 1) * (1 - 1e-6)`", "cosine.acos()", "(cosine.clamp(-1, 1) * (1 - 1e-6)).acos()"),
        by("torch.atan2(sine, cosine)", "cosine.acos()", "torch.atan2(out - out.detach(), cosine)"),
        symptom=BAD,
        values=True,
    ),
    "an op overflows": case(
        "AG304",
        trained("large = out * 1e6", "(large * 1e35 / 1e35).sum()"),
        by("Bound the inputs of this op", "large * 1e35 /", "large.clamp(-1, 1) * 1e35 /"),
        by("compute in a wider dtype", "out * 1e6", "out.double() * 1e6"),
        symptom=BAD,
        values=True,
    ),
    "a power overflows": case(
        "AG304",
        trained("large = out * 1e3", "(large ** 20).sum()"),
        by("Bound the base (`x.clamp(-c, c)`)", "large ** 20", "large.clamp(-1, 1) ** 20"),
        by("compute in a wider dtype", "out * 1e3", "out.double()"),
        symptom=BAD,
        values=True,
    ),
    "float16 overflows": case(
        "AG304",
        trained("half = out.half()", "(half * 700000 / 700000).float().mean()"),
        by("compute this in float32 (`x.float()` before it)", "half * 700000 /", "half.float() * 700000 /"),
        by("in bfloat16", "out.half()", "out.bfloat16()"),
        symptom=BAD,
        values=True,
    ),
    "the data that come in hold NaN": case(
        "AG304",
        trained("", "(out * batch).mean()"),
        by(
            "Check the data: `torch.isfinite(batch).all()`",
            "\nloss =",
            "\nif not torch.isfinite(batch).all():\n    batch = torch.ones(4)\nloss =",
        ),
        symptom=BAD,
        values=True,
        before="batch = torch.tensor([1.0, float('nan'), 1.0, 1.0])",
    ),
    "the data hold NaN": case(
        "AG304",
        trained("batch = torch.tensor([1.0, float('nan'), 1.0, 1.0])", "(out * batch).mean()"),
        by(
            "Check the data: `torch.isfinite(batch).all()`",
            "batch = torch.tensor([1.0, float('nan'), 1.0, 1.0])",
            "batch = torch.tensor([1.0, float('nan'), 1.0, 1.0])\nif not torch.isfinite(batch).all():\n    batch = torch.ones(4)",
        ),
        symptom=BAD,
        values=True,
    ),
    "every label is ignored": case(
        "AG304",
        trained("labels = torch.full((3,), -100)", "F.cross_entropy(out, labels)"),
        by(
            "`(labels != -100).any()`",
            "loss = F",
            "labels = labels if (labels != -100).any() else torch.zeros(3, dtype=torch.long)\nloss = F",
        ),
        by(
            "divide reduction='sum' by the number of targets, at least 1",
            "F.cross_entropy(out, labels)",
            "F.cross_entropy(out, labels, reduction='sum') / (labels != -100).sum().clamp(min=1)",
        ),
        symptom=BAD,
        values=True,
    ),
    "the learning rate is too high": case(
        "AG304",
        """
net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
x = torch.ones(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=1e3)
for _ in range(6):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
        by("Lower the learning rate", "lr=1e3", "lr=1e-3"),
        by(
            "clip the gradients: torch.nn.utils.clip_grad_norm_",
            "    optimizer.step()",
            "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-6)\n    optimizer.step()",
        ),
        symptom=BAD,
        values=True,
    ),
    "the weights begin too large": case(
        "AG304",
        """
net = nn.Linear(4, 1)
with torch.no_grad():
    net.weight.fill_(1e25)
x = torch.ones(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(x).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by("Start with smaller weights", "1e25", "1.0"),
        by("scale the data", "x = torch.ones(3, 4)", "x = torch.ones(3, 4) / 1e25"),
        symptom=BAD,
        values=True,
    ),
    "the data has an outlier": case(
        "AG304",
        """
net = nn.Linear(4, 1)
x = torch.full((3, 4), 1e25)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(x).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Look for an outlier in the data (`batch.abs().max()`)",
            "\noptimizer =",
            "\nif x.abs().max() > 1e3:\n    x = torch.ones(3, 4)\noptimizer =",
        ),
        by("scale it", "\noptimizer =", "\nx = x / 1e25\noptimizer ="),
        symptom=BAD,
        values=True,
    ),
    "the learning rate is NaN": case(
        "AG304",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
optimizer.param_groups[0]["lr"] = float("nan")
for _ in range(2):
    optimizer.zero_grad()
    loss = net(torch.ones(3, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
        by("Check what sets the learning rate: a scheduler, or the program", 'float("nan")', "0.01"),
        symptom=BAD,
        values=True,
    ),
    "eps is zero": case(
        "AG304",
        """
net = nn.Linear(4, 1)
x = torch.tensor([[1.0, 0.0, 1.0, 1.0]])
optimizer = torch.optim.Adam(net.parameters(), lr=0.1, eps=0.0)
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
        by("Give the optimizer an eps above 0", "eps=0.0", "eps=1e-8"),
        symptom=BAD,
        values=True,
    ),
    "a step overflows": case(
        "AG304",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e30)
for _ in range(2):
    optimizer.zero_grad()
    loss = 1e10 * net(torch.ones(3, 4)).mean()
    loss.backward()
    optimizer.step()
""",
        by("Look at the settings of this optimizer (learning rate, eps)", "lr=1e30", "lr=1e-12"),
        by("at the gradients before the step", "1e10 * net", "net", "lr=1e30", "lr=1e-12"),
        symptom=BAD,
        values=True,
    ),
}
