"""zero_grad, backward, clip and step that are missing or out of order (AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

NET = """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
"""
STILL = "torch.equal(net.weight, start)"

CASES = {
    "gradients add up over steps": case(
        "AG305",
        NET + """
for _ in range(2):
    loss = net(x).mean()
    loss.backward()
    optimizer.step()
""",
        by("Call optimizer.zero_grad() before backward()", "    loss.backward", "    optimizer.zero_grad()\n    loss.backward"),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
    ),
    "gradients add up over steps of several backwards": case(
        "AG305",
        NET + """
for i in range(4):
    loss = net(x).mean()
    loss.backward()
    if i % 2:
        optimizer.step()
""",
        by("Call optimizer.zero_grad() once for each step(), right after it", "        optimizer.step()", "        optimizer.step()\n        optimizer.zero_grad()"),
        symptom="net.weight.grad is not None",
    ),
    "a gradient was there before": case(
        "AG305",
        """
net(x).mean().backward()
optimizer.step()
""",
        by("Call optimizer.zero_grad() before backward()", "net(x).mean().backward()\noptimizer", "optimizer.zero_grad()\nnet(x).mean().backward()\noptimizer"),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
        before=NET + "net(x).sum().backward()\nnet.weight.grad.fill_(1.0)\n",
    ),
    "a closure does not clear": case(
        "AG305",
        NET + """
def closure():
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
for _ in range(2):
    wanted = torch.autograd.grad(net(x).pow(2).mean(), net.weight)[0]
    optimizer.step(closure)
""",
        by("Call `optimizer.zero_grad()` at the beginning of the closure", "    loss = net", "    optimizer.zero_grad()\n    loss = net"),
        symptom="not torch.allclose(net.weight.grad, wanted)",
    ),
    "a closure is evaluated several times and does not clear": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
x = torch.ones(3, 4)
def closure():
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss
first = torch.autograd.grad(net(x).pow(2).mean(), net.weight)[0]
for _ in range(2):
    optimizer.step(closure)
""",
        by("Call `optimizer.zero_grad()` at the beginning of the closure", "    loss = net", "    optimizer.zero_grad()\n    loss = net"),
        symptom="net.weight.grad.abs().sum() > 3 * first.abs().sum()",
    ),
    "gradients are cleared before the step": case(
        "AG305",
        NET + """
for _ in range(2):
    loss = net(x).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
""",
        by("Call zero_grad() before backward()", "    optimizer.zero_grad()\n", "", "    loss.backward", "    optimizer.zero_grad()\n    loss.backward"),
        by("after step(): zero_grad, backward, step", "    optimizer.zero_grad()\n    optimizer.step()", "    optimizer.step()\n    optimizer.zero_grad()"),
        symptom=STILL,
    ),
    "gradients of micro-batches are cleared": case(
        "AG305",
        NET + """
for i in range(4):
    optimizer.zero_grad()
    loss = net(x * (i + 1)).mean()
    loss.backward()
    if i % 2:
        optimizer.step()
""",
        by("call zero_grad() once for each step(), right after it", "    optimizer.zero_grad()\n", "", "        optimizer.step()", "        optimizer.step()\n        optimizer.zero_grad()"),
        symptom="torch.allclose(net.weight, start - 0.1 * 6)",
    ),
    "step is not called": case(
        "AG305",
        NET + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    loss.backward()
    optimizer.step
""",
        by("Call optimizer.step() (with its parentheses)", "    optimizer.step", "    optimizer.step()"),
        symptom=STILL,
    ),
    "another optimizer clears the gradients": case(
        "AG305",
        NET + """
other = torch.optim.SGD([net.weight], lr=0.01)
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    other.zero_grad()
    net(2 * x).mean().backward()
    optimizer.step()
moved = start - net.weight
""",
        by("Call other.zero_grad() before that backward()", "    other.zero_grad()\n", "", "    net(x).mean()", "    other.zero_grad()\n    net(x).mean()"),
        by("after optimizer.step()", "    other.zero_grad()\n", "", "    optimizer.step()", "    optimizer.step()\n    other.zero_grad()"),
        symptom="torch.allclose(moved, torch.full((1, 4), 0.4))",
    ),
    "another loss leaves gradients": case(
        "AG305",
        """
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.1)
of_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
x = torch.randn(3, 4)
for _ in range(2):
    of_generator.zero_grad()
    of_critic.zero_grad()
    (-critic(generator(x)).mean()).backward()
    of_generator.step()
    fake = generator(x).detach()
    (critic(fake).mean() - critic(x).mean()).backward()
    of_critic.step()
wanted = (fake - x).mean(0)
""",
        by("Call `of_critic.zero_grad()` right before the backward() of their own loss", "    fake =", "    of_critic.zero_grad()\n    fake ="),
        symptom="not torch.allclose(critic.weight.grad[0], wanted, atol=1e-6)",
    ),
    "both gradients may be meant": case(
        "AG305",
        NET + """
for i in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        moves = [0.05 * p.grad for p in net.parameters()]
        for p, move in zip(net.parameters(), moves):
            p.add_(move)
    (net(2 * x) - 1).abs().mean().backward()
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.sub_(move)
    optimizer.step()
""",
        by("Where the step is to use the gradients at the new place alone: call `optimizer.zero_grad()` between the two backward() calls", "            p.add_(move)\n", "            p.add_(move)\n    optimizer.zero_grad()\n"),
        symptom="not torch.allclose(net.weight.grad.abs(), torch.full((1, 4), 2.0))",
    ),
    "an optimizer is not prepared for accumulation": case(
        "AG305",
        """
import accelerate
accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
accelerate.state.GradientState._reset_state()
accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net = accelerator.prepare(net)
for _ in range(4):
    with accelerator.accumulate(net):
        accelerator.backward(net(torch.ones(3, 4)).mean())
        optimizer.step()
        optimizer.zero_grad()
""",
        by("to accelerator.prepare() with the model, and use the optimizer that it returns", "net = accelerator.prepare(net)", "net, optimizer = accelerator.prepare(net, optimizer)"),
        symptom="type(optimizer) is torch.optim.SGD",
        needs="accelerate",
    ),
    "micro-batches are not divided": case(
        "AG305",
        """
import accelerate
accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
accelerate.state.GradientState._reset_state()
accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net, optimizer = accelerator.prepare(net, optimizer)
start = net.weight.detach().clone()
for _ in range(4):
    with accelerator.accumulate(net):
        loss = net(torch.ones(3, 4)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
""",
        by("Call accelerator.backward(loss)", "loss.backward()", "accelerator.backward(loss)"),
        by("divide the loss before backward()", "loss.backward()", "(loss / 2).backward()"),
        symptom="torch.allclose(net.weight, start - 0.4)",
        needs="accelerate",
    ),
    "the gradient of an input is summed with the training's": case(
        "AG305",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    moved = x.clone().requires_grad_()
    net(moved).mean().backward()
    moved = (moved + 0.1 * moved.grad.sign()).detach()
    net(moved).mean().backward()
    optimizer.step()
wanted = torch.autograd.grad(net(moved).mean(), net.weight)[0]
""",
        by("all `optimizer.zero_grad()` right before the backward() of the training's own loss", "    moved = (", "    optimizer.zero_grad()\n    moved = ("),
        by("torch.autograd.grad(loss, moved)", "    net(moved).mean().backward()\n    moved = (moved + 0.1 * moved.grad.sign())",
           "    (slope,) = torch.autograd.grad(net(moved).mean(), moved)\n    moved = (moved + 0.1 * slope.sign())"),
        symptom="not torch.allclose(net.weight.grad, wanted)",
    ),
    "gradients of two places are summed": case(
        "AG305",
        NET + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        moves = [0.05 * p.grad for p in net.parameters()]
        for p, move in zip(net.parameters(), moves):
            p.add_(move)
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        for p, move in zip(net.parameters(), moves):
            p.sub_(move)
    optimizer.step()
    moved = [p.detach() + m + 0.1 * p.grad for p, m in zip(net.parameters(), moves)]
wanted = torch.autograd.grad(torch.func.functional_call(net, dict(weight=moved[0].requires_grad_(), bias=moved[1]), (x,)).pow(2).mean(), moved[0])[0]
""",
        by("between the two backward() calls, after the gradients have moved the parameters", "            p.add_(move)\n", "            p.add_(move)\n    optimizer.zero_grad()\n"),
        symptom="not torch.allclose(net.weight.grad, wanted, atol=1e-5)",
    ),
    "backward runs twice on one loss": case(
        "AG305",
        NET + """
loss = net(x).mean()
loss.backward(retain_graph=True)
loss.backward()
optimizer.step()
""",
        by("Remove one of the two backward() calls", "loss.backward(retain_graph=True)\n", ""),
        by("use torch.autograd.grad(), which leaves .grad alone", "loss.backward(retain_graph=True)", "size = torch.autograd.grad(loss, net.weight, retain_graph=True)[0].norm()"),
        by("clear the gradients between the two", "loss.backward()\n", "optimizer.zero_grad()\nloss.backward()\n"),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
    ),
    "backward is never called": case(
        "AG305",
        NET + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    optimizer.step()
""",
        by("Call loss.backward() before optimizer.step()", "    optimizer.step", "    loss.backward()\n    optimizer.step"),
        symptom=STILL,
    ),
    "a closure never calls backward": case(
        "AG305",
        NET + """
def closure():
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    return loss
optimizer.step(closure)
""",
        by("Call loss.backward() inside the closure, before it returns the loss", "    return", "    loss.backward()\n    return"),
        symptom=STILL,
    ),
    "losses are computed and nothing trains": case(
        "AG305",
        NET + """
for _ in range(3):
    loss = F.mse_loss(net(x), torch.zeros(3, 1))
""",
        by("To train, call backward() on the loss and optimizer.step()", "torch.zeros(3, 1))\n", "torch.zeros(3, 1))\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"),
        by("to look only, compute it under torch.no_grad()", "    loss =", "    with torch.no_grad():\n        loss ="),
        symptom="loss.requires_grad and net.weight.grad is None",
    ),
    "backward starts from a vector": case(
        "AG305",
        NET + """
loss = net(x)
loss.backward()
optimizer.step()
""",
        by("`loss.mean()`", "loss.backward", "loss.mean().backward"),
        by("pass a gradient of that shape", "loss.backward()", "loss.backward(torch.ones(3, 1))"),
    ),
    "backward is given a gradient of another shape": case(
        "AG305",
        NET + """
loss = net(x)
loss.backward(torch.ones(3))
optimizer.step()
""",
        by("Pass a gradient of shape [3, 1]", "torch.ones(3))", "torch.ones(3, 1))"),
    ),
    "gradients are clipped after the step": case(
        "AG305",
        NET + """
for _ in range(2):
    optimizer.zero_grad()
    net(100 * x).mean().backward()
    optimizer.step()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
""",
        by("Clip between backward() and step()", "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n", "", "    optimizer.step()", "    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n    optimizer.step()"),
        symptom="(net.weight - start).norm() > 1",
    ),
    "gradients of another module are clipped": case(
        "AG305",
        NET + """
other = nn.Linear(4, 1)
for _ in range(2):
    optimizer.zero_grad()
    net(100 * x).mean().backward()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
    optimizer.step()
""",
        by("Clip the parameters that the optimizer holds", "clip_grad_norm_(other.", "clip_grad_norm_(net."),
        symptom="(net.weight - start).norm() > 1",
    ),
    "a generator of parameters is used up for clipping": case(
        "AG305",
        """
net = nn.Linear(4, 1)
params = net.parameters()
optimizer = torch.optim.SGD(params, lr=0.1)
start = net.weight.detach().clone()
x = torch.ones(3, 4)
net(100 * x).mean().backward()
torch.nn.utils.clip_grad_norm_(params, 1.0)
optimizer.step()
""",
        by("`params = list(net.parameters())`", "params = net.parameters()", "params = list(net.parameters())"),
        by("call net.parameters() again for clipping", "norm_(params", "norm_(net.parameters()"),
        symptom="(net.weight - start).norm() > 1",
    ),
    "a step applies the gradient of the round before": case(
        "AG305",
        """
net, scale = nn.Linear(4, 1), nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
x = torch.ones(3, 4)
for i in range(3):
    for p in net.parameters():
        p.grad = None
    loss = net(x).mean()
    if i == 0:
        loss = loss * scale
    loss.backward()
    optimizer.step()
    last = scale.grad
""",
        by("Assign the new gradients in every round", "    optimizer.step()", "    scale.grad = torch.zeros(1) if i else scale.grad\n    optimizer.step()"),
        by("clear them with zero_grad() where no loss reaches it", "    for p in net.parameters():\n        p.grad = None\n", "    optimizer.zero_grad()\n"),
        symptom="last is not None and bool(last.any())",
    ),
    "gradients are dropped after the step": case(
        "AG305",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
start = net.weight.detach().clone()
x = torch.ones(3, 4)
for _ in range(2):
    optimizer.zero_grad()
    head(net(x)).mean().backward()
    optimizer.step()
    for p in net.parameters():
        p.grad = None
""",
        by("Drop them between backward() and step()", "    for p in net.parameters():\n        p.grad = None\n", "", "    optimizer.step()\n", "    for p in net.parameters():\n        p.grad = None\n    optimizer.step()\n"),
        by("otherwise remove that line", "    for p in net.parameters():\n        p.grad = None\n", ""),
        symptom="not torch.equal(net.weight, start) and net.weight.grad is None",
    ),
    "gradients are changed after the step": case(
        "AG305",
        NET + """
for _ in range(2):
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
    for p in net.parameters():
        p.grad.mul_(0.5)
""",
        by("Change gradients between backward() and step()", "    for p in net.parameters():\n        p.grad.mul_(0.5)\n", "", "    optimizer.step()\n", "    for p in net.parameters():\n        p.grad.mul_(0.5)\n    optimizer.step()\n"),
        symptom="torch.allclose(net.weight, start - 0.2)",
    ),
    "an update by hand is assigned to a variable": case(
        "AG305",
        """
net = nn.Linear(4, 1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
for _ in range(2):
    net(x).pow(2).mean().backward()
    for p in net.parameters():
        p = p - 0.1 * p.grad
""",
        by("Update in place, under torch.no_grad(): `p -= 0.1 * p.grad`; then clear the gradient of each parameter before the next backward(): `p.grad = None`", "        p = p - 0.1 * p.grad", "        with torch.no_grad():\n            p -= 0.1 * p.grad\n        p.grad = None"),
        symptom=STILL,
    ),
    "an update by hand is assigned to a variable, and the gradient is cleared": case(
        "AG305",
        """
net = nn.Linear(4, 1)
x = torch.ones(3, 4)
start = net.weight.detach().clone()
for _ in range(2):
    net.zero_grad()
    net(x).pow(2).mean().backward()
    for p in net.parameters():
        p = p - 0.1 * p.grad
""",
        by("Update in place, under torch.no_grad(): `p -= 0.1 * p.grad`.", "        p = p - 0.1 * p.grad", "        with torch.no_grad():\n            p -= 0.1 * p.grad"),
        symptom=STILL,
    ),
    "an update by hand leaves the gradient": case(
        "AG305",
        """
w = torch.ones(4, requires_grad=True)
for _ in range(2):
    (2 * w).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
""",
        by("`w.grad = None`", "        w -= 0.1 * w.grad", "        w -= 0.1 * w.grad\n        w.grad = None"),
        symptom="w.grad is not None",
    ),
    "a scaled loss is stepped without the scaler": case(
        "AG305",
        NET + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    optimizer.step()
""",
        by("Call scaler.step(optimizer) and scaler.update() instead of optimizer.step()", "    optimizer.step()", "    scaler.step(optimizer)\n    scaler.update()"),
        symptom="(net.weight - start).abs().max() > 0.5",
    ),
    "scaled gradients are clipped": case(
        "AG305",
        NET + """
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 100.0)
    scaler.step(optimizer)
    scaler.update()
""",
        by("Call scaler.unscale_(optimizer) before clipping", "    torch.nn.utils", "    scaler.unscale_(optimizer)\n    torch.nn.utils"),
        symptom="not torch.allclose(net.weight, start - 0.2)",
    ),
    "the scaler is not updated": case(
        "AG305",
        NET + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for _ in range(2):
    optimizer.zero_grad()
    scaler.scale(net(x).mean()).backward()
    scaler.step(optimizer)
""",
        by("Call `scaler.update()` once after `scaler.step(optimizer)`, at the end of each round", "    scaler.step(optimizer)", "    scaler.step(optimizer)\n    scaler.update()"),
    ),
    "gradients are unscaled twice": case(
        "AG305",
        NET + """
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
        by("Call `scaler.unscale_(optimizer)` once for each `scaler.step(optimizer)`, right before the gradients are clipped",
           "    scaler.unscale_(optimizer)\n    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n", "",
           "        scaler.step", "        scaler.unscale_(optimizer)\n        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n        scaler.step"),
    ),
    "a scaled step has no gradients": case(
        "AG305",
        NET + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
other = nn.Linear(4, 1)
scaler.scale(other(x).mean()).backward()
scaler.step(optimizer)
scaler.update()
""",
        by("Call backward() on a loss that these parameters compute", "scale(other(x)", "scale(net(x)"),
        by("give the optimizer the parameters that do", "scaler.scale", "optimizer = torch.optim.SGD(other.parameters(), lr=0.1)\nscaler.scale"),
    ),
    "no loss is scaled": case(
        "AG305",
        NET + """
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
loss = net(x).mean()
loss.backward()
scaler.step(optimizer)
scaler.update()
""",
        by("Call `scaler.scale(loss).backward()` instead of `loss.backward()`", "loss.backward()", "scaler.scale(loss).backward()"),
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
        by("compute in float16 under torch.autocast: no `half()` on the model", "net.half()\n", "", "loss = net(x.half()).mean()", 'with torch.autocast("cpu", dtype=torch.float16):\n    loss = net(x).mean()'),
    ),
}
