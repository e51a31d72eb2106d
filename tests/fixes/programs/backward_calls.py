"""backward() and step() that are missing, come twice or are refused (AG305)."""

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
    "step is not called": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    loss.backward()
    optimizer.step
""",
        by("Call optimizer.step() (with its parentheses)", "    optimizer.step", "    optimizer.step()"),
        symptom=STILL,
    ),
    "backward runs twice on one loss": case(
        "AG305",
        NET
        + """
loss = net(x).mean()
loss.backward(retain_graph=True)
loss.backward()
optimizer.step()
""",
        by("Remove one of the two backward() calls", "loss.backward(retain_graph=True)\n", ""),
        by(
            "use torch.autograd.grad(), which does not write to .grad",
            "loss.backward(retain_graph=True)",
            "size = torch.autograd.grad(loss, net.weight, retain_graph=True)[0].norm()",
        ),
        by("clear the gradients between the two", "loss.backward()\n", "optimizer.zero_grad()\nloss.backward()\n"),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 2.0))",
    ),
    "copied gradients are clipped too late": case(
        "AG305",
        NET
        + """
masters = [p.detach().double().requires_grad_() for p in net.parameters()]
optimizer = torch.optim.SGD(masters, lr=0.1)
first = masters[0].detach().clone()
(net(x).sum() * 100).backward()
for p, m in zip(net.parameters(), masters):
    m.grad = p.grad.double()
nn.utils.clip_grad_norm_(net.parameters(), 1.0)
optimizer.step()
moved = (masters[0].detach() - first).norm()
net.load_state_dict({name: m.detach().float() for name, m in zip(net.state_dict(), masters)})
""",
        by(
            "Clip before the gradients are copied",
            "for p, m in zip(net.parameters(), masters):\n    m.grad = p.grad.double()\n"
            "nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n",
            "nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
            "for p, m in zip(net.parameters(), masters):\n    m.grad = p.grad.double()\n",
        ),
        by("clip the parameters that the optimizer holds", "norm_(net.parameters(), 1.0)", "norm_(masters, 1.0)"),
        symptom="moved > 1",
    ),
    "a growing total is differentiated each time": case(
        "AG305",
        NET
        + """
total = torch.zeros(())
for batch in torch.ones(3, 3, 4):
    loss = net(batch).mean()
    total = total + loss
    total.backward(retain_graph=True)
optimizer.step()
""",
        by("Call `loss.backward()`", "total.backward(retain_graph=True)", "loss.backward()"),
        by(
            "call backward() once, when the sum is complete",
            "    total.backward(retain_graph=True)",
            "total.backward()",
        ),
        symptom="torch.allclose(net.weight.grad, torch.full((1, 4), 6.0))",
    ),
    "gradients are divided after each backward": case(
        "AG305",
        NET
        + """
for batch in torch.ones(3, 3, 4):
    loss = net(batch).mean()
    loss.backward()
    for p in net.parameters():
        p.grad.div_(3)
optimizer.step()
""",
        by(
            "Scale them once, after the last backward() and before step()",
            "    for p in net.parameters():\n        p.grad",
            "for p in net.parameters():\n    p.grad",
        ),
        by(
            "scale each loss instead",
            "    loss.backward()\n    for p in net.parameters():\n        p.grad.div_(3)",
            "    (loss / 3).backward()",
        ),
        symptom="net.weight.grad.mean() < 0.9",
    ),
    "gradients are returned to nobody": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    torch.autograd.grad(loss, list(net.parameters()))
    optimizer.step()
""",
        by(
            "Call loss.backward(), which stores the gradients in .grad",
            "torch.autograd.grad(loss, list(net.parameters()))",
            "loss.backward()",
        ),
        by(
            "assign what torch.autograd.grad returns: `p.grad = g` for each parameter",
            "    torch.autograd.grad(loss, list(net.parameters()))",
            "    for p, g in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):\n        p.grad = g",
        ),
        symptom=STILL,
    ),
    "gradients are returned by a transform and stored elsewhere": case(
        "AG305",
        NET
        + """
from torch.func import functional_call, grad
for _ in range(2):
    params = {name: p.detach() for name, p in net.named_parameters()}
    grads = grad(lambda params: functional_call(net, params, (x,)).mean())(params)
    for name, p in net.named_parameters():
        p.own_grad = grads[name]
    optimizer.step()
""",
        by("Store the gradients before step(): `p.grad = g` for each parameter", "p.own_grad =", "p.grad ="),
        symptom=STILL,
    ),
    "backward is given some inputs": case(
        "AG301",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    loss.backward(inputs=[net.bias])
    optimizer.step()
""",
        by("Leave out `inputs`", "inputs=[net.bias]", ""),
        by("add it to the list", "inputs=[net.bias]", "inputs=[net.bias, net.weight]"),
        symptom=STILL,
    ),
    "backward is never called": case(
        "AG305",
        NET
        + """
for _ in range(2):
    optimizer.zero_grad()
    loss = net(x).mean()
    optimizer.step()
""",
        by(
            "Call loss.backward() before optimizer.step()",
            "    optimizer.step",
            "    loss.backward()\n    optimizer.step",
        ),
        symptom=STILL,
    ),
    "a closure never calls backward": case(
        "AG305",
        NET
        + """
def closure():
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    return loss
optimizer.step(closure)
""",
        by(
            "Call loss.backward() inside the closure, before it returns the loss",
            "    return",
            "    loss.backward()\n    return",
        ),
        symptom=STILL,
    ),
    "a library gets no loss": case(
        "AG305",
        """
import lightning
from torch.utils.data import DataLoader
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
    def training_step(self, batch, _):
        loss = self.net(batch).pow(2).mean()
        self.log("loss", loss)
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
module = Module()
start = module.net.weight.detach().clone()
trainer = lightning.Trainer(
    max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(module, DataLoader(torch.randn(8, 4), batch_size=4))
""",
        by(
            "Return loss from `Module.training_step`",
            'self.log("loss", loss)',
            'self.log("loss", loss)\n        return loss',
        ),
        symptom="torch.equal(module.net.weight, start)",
        needs="lightning",
    ),
    "losses are computed and nothing trains": case(
        "AG305",
        NET
        + """
for _ in range(3):
    loss = F.mse_loss(net(x), torch.zeros(3, 1))
""",
        by(
            "To train, call backward() on the loss and optimizer.step()",
            "torch.zeros(3, 1))\n",
            "torch.zeros(3, 1))\n    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
        ),
        by(
            "for evaluation only, compute it under torch.no_grad()",
            "    loss =",
            "    with torch.no_grad():\n        loss =",
        ),
        symptom="loss.requires_grad and net.weight.grad is None",
    ),
    "backward starts from a vector": case(
        "AG305",
        NET
        + """
loss = net(x)
loss.backward()
optimizer.step()
""",
        by("`loss.mean()`", "loss.backward", "loss.mean().backward"),
        by("pass a gradient of that shape", "loss.backward()", "loss.backward(torch.ones(3, 1))"),
    ),
    "backward is given a gradient of another shape": case(
        "AG305",
        NET
        + """
loss = net(x)
loss.backward(torch.ones(3))
optimizer.step()
""",
        by("Pass a gradient of shape [3, 1]", "torch.ones(3))", "torch.ones(3, 1))"),
    ),
}
