"""What was computed while gradient was not recorded (AG102, AG103)."""

from __future__ import annotations

from tests.fixes.cases import by, case

CASES = {
    "Lightning validates in inference mode": case(
        "AG103",
        """
trainer = L.Trainer(**quiet)
trainer.validate(Forces(), loader, verbose=False)
""",
        by(
            "Create the Trainer with `inference_mode=False`, and compute this under `torch.enable_grad()`",
            "L.Trainer(",
            "L.Trainer(inference_mode=False, ",
            "        (grad,) = torch",
            "        with torch.enable_grad():\n            (grad,) = torch",
        ),
        before="""
import logging, warnings
import lightning as L
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
loader = torch.utils.data.DataLoader(torch.ones(4, 3), batch_size=2)
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, accelerator="cpu")
class Forces(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def validation_step(self, batch, index):
        pos = batch.detach().clone().requires_grad_(True)
        (grad,) = torch.autograd.grad(self.net(pos).pow(2).sum(), pos)
""",
        needs="lightning",
    ),
    "a loss is left behind in a reentrant checkpoint": case(
        "AG102",
        """
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.gate = nn.Linear(4, 4), nn.Linear(4, 3)
    def forward(self, x):
        self.balance = self.gate(x).softmax(-1).pow(2).sum()
        return self.layer(x)
net = Gated()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
out = checkpoint(net, torch.randn(3, 4, requires_grad=True), use_reentrant=True)
(out.pow(2).mean() + net.balance).backward()
optimizer.step()
""",
        by("Pass use_reentrant=False", "use_reentrant=True", "use_reentrant=False"),
        by(
            "return the tensor from the checkpointed function",
            "self.balance = self",
            "balance = self",
            "return self.layer(x)",
            "return self.layer(x), balance",
            "out = ",
            "out, balance = ",
            "net.balance)",
            "balance)",
        ),
        symptom="net.gate.weight.grad is None",
    ),
    "a forward stands in a block of no_grad": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
with torch.no_grad():
    hidden = encoder(x)
head(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by("Move the computation out of the `torch.no_grad()` block", "with torch.no_grad():\n    hidden", "hidden"),
        symptom="encoder.weight.grad is None",
    ),
    "a value is kept from an evaluation": case(
        "AG102",
        """
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.kept = nn.Linear(4, 4), None
    def forward(self, x):
        if self.kept is None:
            self.kept = self.net(torch.ones(1, 4))
        return x * self.kept
net = nn.Sequential(Scaled(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.no_grad():
    net(torch.randn(3, 4))
for _ in range(2):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Compute it again for each loss",
            "        if self.kept is None:\n            self.kept = ",
            "        self.kept = ",
        ),
        symptom="net[0].net.weight.grad is None",
    ),
    "features are computed without grad for all losses": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
with torch.no_grad():
    hidden = encoder(x)
for _ in range(2):
    optimizer.zero_grad()
    head(hidden).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "Recompute it before each backward(), with grad enabled",
            "with torch.no_grad():\n    hidden = encoder(x)\n",
            "",
            "    optimizer.zero_grad()\n",
            "    optimizer.zero_grad()\n    hidden = encoder(x)\n",
        ),
        symptom="encoder.weight.grad is None",
    ),
    "a metric is taken as the loss": case(
        "AG102",
        """
from torchmetrics import MeanSquaredError
net, mse = nn.Linear(4, 1), MeanSquaredError()
x, y = torch.randn(3, 4), torch.randn(3, 1)
mse.update(net(x), y)
mse.compute().backward()
""",
        by(
            "Compute it without `mse.update()`",
            "mse.update(net(x), y)\n",
            "",
            "mse.compute().backward()",
            "(net(x) - y).pow(2).mean().backward()",
        ),
        needs="torchmetrics",
    ),
    "a context manager of the program switches grad mode off": case(
        "AG102",
        """
from contextlib import contextmanager
@contextmanager
def quick():
    with torch.no_grad():
        yield
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(3, 4)
with quick():
    hidden = encoder(x)
head(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by("Move the computation out of the block of `with quick():`", "with quick():\n    hidden", "hidden"),
        symptom="encoder.weight.grad is None",
    ),
    "a generator yields inside its block": case(
        "AG102",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def batches():
    with torch.no_grad():
        for _ in range(2):
            batch = torch.randn(3, 4)
            yield batch
for x in batches():
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
        by(
            "`batches` must leave its `torch.no_grad()` block first",
            "    with torch.no_grad():\n        for _ in range(2):\n            batch = torch.randn(3, 4)\n            yield batch",
            "    for _ in range(2):\n        with torch.no_grad():\n            batch = torch.randn(3, 4)\n        yield batch",
        ),
    ),
    "grad mode stays off after an evaluation": case(
        "AG102",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
torch.set_grad_enabled(False)
net(x).pow(2).mean()
loss = net(x).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Use `with torch.no_grad():` around the code that needs it",
            "torch.set_grad_enabled(False)\nnet",
            "with torch.no_grad():\n    net",
        ),
    ),
    "the condition of set_grad_enabled is false in training": case(
        "AG102",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, phase = torch.randn(3, 4), "train"
with torch.set_grad_enabled(phase == "training"):
    loss = net(x).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Make the condition passed to set_grad_enabled true for training", 'phase == "training"', 'phase == "train"'
        ),
    ),
    "a function of the training is decorated with no_grad": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
@torch.no_grad()
def encode(x):
    return encoder(x)
x = torch.randn(3, 4)
head(encode(x)).pow(2).mean().backward()
optimizer.step()
""",
        by("Remove the decorator from `encode`", "@torch.no_grad()\n", ""),
        by("do not call it where gradients must flow", "head(encode(x))", "head(encoder(x))"),
        symptom="encoder.weight.grad is None",
    ),
    "a function was wrapped in no_grad": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
def encode(x):
    return encoder(x)
features = torch.no_grad()(encode)
head(features(torch.randn(3, 4))).pow(2).mean().backward()
optimizer.step()
""",
        by("Call `encode` itself, unwrapped", "head(features(", "head(encode("),
        symptom="encoder.weight.grad is None",
    ),
    "a module's forward was wrapped in no_grad": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
embed = torch.no_grad()(encoder.forward)
head(embed(torch.randn(3, 4))).pow(2).mean().backward()
optimizer.step()
""",
        by("Call `Linear.forward` itself, unwrapped", "head(embed(", "head(encoder.forward("),
        symptom="encoder.weight.grad is None",
    ),
    "a library computes for inference": case(
        "AG102",
        """
encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
features = predict(encoder, torch.randn(3, 4))
head(features).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "call the model itself where gradients must flow",
            "predict(encoder, torch.randn(3, 4))",
            "encoder(torch.randn(3, 4))",
        ),
        symptom="encoder.weight.grad is None",
        before="""
text = "import torch\\n@torch.no_grad()\\ndef predict(model, x):\\n    return model(x)\\n"
library = {}
exec(compile(text, nn.__file__.replace("torch/nn", "a_library/predicting"), "exec"), library)
predict = library["predict"]
""",
    ),
    "an optimizer calls its closure under no_grad": case(
        "AG102",
        """
class Halving(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {})
    @torch.no_grad()
    def step(self, closure):
        loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(0.1 * p.grad)
        return loss
net = nn.Linear(4, 1)
optimizer = Halving(net.parameters())
def closure():
    optimizer.zero_grad()
    loss = net(torch.ones(3, 4)).pow(2).mean()
    loss.backward()
    return loss
optimizer.step(closure)
""",
        by(
            "Call the closure in `Halving.step` under `with torch.enable_grad():`",
            "        loss = closure()",
            "        with torch.enable_grad():\n            loss = closure()",
        ),
    ),
    "an update by hand rebinds the parameter": case(
        "AG102",
        """
w = torch.randn(4, requires_grad=True)
x = torch.randn(3, 4)
for _ in range(2):
    (x @ w).pow(2).mean().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
""",
        by(
            "clear its gradient before the next backward() if nothing else does: `w.grad = None`",
            "w = w - 0.1 * w.grad",
            "w -= 0.1 * w.grad\n        w.grad = None",
        ),
    ),
    "a hook differentiates what it has computed": case(
        "AG102",
        """
net = nn.Linear(4, 1)
def penalize(grad):
    w = net.weight.detach().clone().requires_grad_()
    size = w.pow(2).sum()
    return grad + torch.autograd.grad(size, w)[0]
net.weight.register_hook(penalize)
net(torch.randn(3, 4)).sum().backward()
""",
        by(
            "Compute the tensor to differentiate under `with torch.enable_grad():`, from tensors that require grad",
            "    size = w",
            "    with torch.enable_grad():\n        size = w",
        ),
    ),
    "grad mode was off before": case(
        "AG102",
        """
net = nn.Linear(4, 1)
net(torch.randn(3, 4)).sum().backward()
""",
        by("Call torch.set_grad_enabled(True) first", "net = ", "torch.set_grad_enabled(True)\nnet = "),
        by(
            "disable grad mode only with `with torch.no_grad():`",
            "net = ",
            "torch.set_grad_enabled(True)\nwith torch.no_grad():\n    torch.ones(2)\nnet = ",
        ),
        before="torch.set_grad_enabled(False)",
    ),
    "a loss is computed in a block of inference mode": case(
        "AG103",
        """
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.inference_mode():
    loss = net(torch.randn(3, 4)).pow(2).mean()
loss.backward()
optimizer.step()
""",
        by(
            "Move the computation out of the `torch.inference_mode()` block",
            "with torch.inference_mode():\n    loss",
            "loss",
        ),
    ),
    "the model is built in inference mode": case(
        "AG103",
        """
with torch.inference_mode():
    net = nn.Linear(4, 1)
    x = torch.randn(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(x.clone()).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Build the model outside of torch.inference_mode()",
            "with torch.inference_mode():\n    net = nn.Linear(4, 1)\n    x",
            "net = nn.Linear(4, 1)\nwith torch.inference_mode():\n    x",
        ),
    ),
    "a tensor of inference mode is saved for backward": case(
        "AG103",
        """
net, head = nn.Linear(4, 4), nn.Linear(4, 1)
x = torch.randn(3, 4)
with torch.inference_mode():
    features = net(x)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
head(features).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Make features under torch.no_grad() instead of inference mode", "torch.inference_mode()", "torch.no_grad()"
        ),
        by("use `features.clone()` outside of it", "head(features)", "head(features.clone())"),
    ),
    "a tensor of inference mode is modified outside": case(
        "AG103",
        """
with torch.inference_mode():
    mean = torch.zeros(4)
mean.add_(1.0)
""",
        by("Make mean under torch.no_grad() instead of inference mode", "torch.inference_mode()", "torch.no_grad()"),
        by(
            "put `mean.clone()` in its place before updating it outside of inference mode",
            "mean.add_",
            "mean = mean.clone()\nmean.add_",
        ),
    ),
    "a tensor of inference mode is to require grad": case(
        "AG103",
        """
with torch.inference_mode():
    w = torch.zeros(4)
w.requires_grad_()
""",
        by("Make w under torch.no_grad() instead of inference mode", "torch.inference_mode()", "torch.no_grad()"),
        by("use `w.clone()` outside of it", "w.requires_grad_()", "w = w.clone()\nw.requires_grad_()"),
    ),
    "one of two ways is cut": case(
        "AG102",
        """
net = nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(3, 4)
wanted = torch.autograd.grad(net(net(x)).pow(2).mean(), net.weight)[0]
with torch.no_grad():
    hidden = net(x)
net(hidden).pow(2).mean().backward()
optimizer.step()
""",
        by(
            "Move the computation out of the `torch.no_grad()` block",
            "with torch.no_grad():\n    hidden = net(x)\n",
            "hidden = net(x)\n",
        ),
        symptom="not torch.allclose(net.weight.grad, wanted)",
    ),
}
