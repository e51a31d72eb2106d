"""Gradients that a GradScaler scales (AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
"""

CASES = {
    "a scaled loss is stepped without the scaler": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    optimizer.step()
""",
        by(
            "Call scaler.step(optimizer) and scaler.update() instead of optimizer.step()",
            "    optimizer.step()",
            "    scaler.step(optimizer)\n    scaler.update()",
        ),
        symptom="(net.weight - start).abs().max() > 0.5",
    ),
    "scaled gradients are clipped": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 100.0)
    scaler.step(optimizer)
    scaler.update()
""",
        by(
            "Call scaler.unscale_(optimizer) before clipping",
            "    torch.nn.utils",
            "    scaler.unscale_(optimizer)\n    torch.nn.utils",
        ),
        symptom="not torch.allclose(net.weight, start - 0.2)",
    ),
    "the scaler is not updated": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    scaler.step(optimizer)
""",
        by(
            "Call `scaler.update()` once after `scaler.step(optimizer)`, at the end of each iteration",
            "    scaler.step(optimizer)",
            "    scaler.step(optimizer)\n    scaler.update()",
        ),
    ),
    "the scaler is updated after micro-batches that only accumulate": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for i in range(4):
    scaler.scale(net(x).mean()).backward()
    if i % 2:
        scaler.step(optimizer)
        optimizer.zero_grad()
    scaler.update()
""",
        by(
            "Call `scaler.update()` once after each `scaler.step(optimizer)`, in the same branch",
            "    scaler.update()\n",
            "",
            "        scaler.step(optimizer)\n",
            "        scaler.step(optimizer)\n        scaler.update()\n",
        ),
    ),
    "gradients are unscaled twice": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for i in range(4):
    scaler.scale(net(x).mean()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    if i % 2:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
""",
        by(
            "Call `scaler.unscale_(optimizer)` once for each `scaler.step(optimizer)`, right before the gradients are clipped",
            "    scaler.unscale_(optimizer)\n    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
            "",
            "        scaler.step",
            "        scaler.unscale_(optimizer)\n        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n        scaler.step",
        ),
    ),
    "a scaled step has no gradients": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
other = nn.Linear(4, 1)
scaler.scale(other(x).mean()).backward()
scaler.step(optimizer)
scaler.update()
""",
        by("Call backward() on a loss that these parameters compute", "scale(other(x)", "scale(net(x)"),
        by(
            "give the optimizer the parameters that do",
            "scaler.scale",
            "optimizer = torch.optim.SGD(other.parameters(), lr=0.1)\nscaler.scale",
        ),
    ),
    "no loss is scaled": case(
        "AG305",
        NET
        + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
loss = net(x).mean()
loss.backward()
scaler.step(optimizer)
scaler.update()
""",
        by(
            "Call `scaler.scale(loss).backward()` instead of `loss.backward()`",
            "loss.backward()",
            "scaler.scale(loss).backward()",
        ),
    ),
    "float16 parameters are scaled": case(
        "AG305",
        """
net = nn.Linear(4, 1)
net.half()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
x = torch.ones(3, 4)
loss = net(x.half()).mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
""",
        by(
            "compute in float16 under torch.autocast: no `half()` on the model",
            "net.half()\n",
            "",
            "loss = net(x.half()).mean()",
            'with torch.autocast("cpu", dtype=torch.float16):\n    loss = net(x).mean()',
        ),
    ),
}
