"""Updates by hand, and what accelerate accumulates (AG305)."""

from __future__ import annotations

from tests.fixes.cases import by, case

STILL = "torch.equal(net.weight, start)"

CASES = {
    "a list of gradients is made once": case(
        "AG305",
        """
net = nn.Linear(4, 1)
grads, slopes = None, []
for _ in range(4):
    net.zero_grad()
    net(torch.randn(3, 4)).pow(2).mean().backward()
    if grads is None:
        grads = [p.grad for p in net.parameters()]
    with torch.no_grad():
        for p, g in zip(net.parameters(), grads):
            p.sub_(0.1 * g)
    slopes.append(grads[0].clone())
""",
        by("Read `.grad` again for each update", "    if grads is None:\n        grads = [", "    grads = ["),
        by("keep the tensors: `zero_grad(set_to_none=False)`", "zero_grad()", "zero_grad(set_to_none=False)"),
        by(
            "the next backward() adds to them",
            "zero_grad()",
            "zero_grad(set_to_none=False)",
        ),
        symptom="torch.equal(slopes[0], slopes[-1])",
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
        by(
            "to accelerator.prepare() with the model, and use the optimizer that it returns",
            "net = accelerator.prepare(net)",
            "net, optimizer = accelerator.prepare(net, optimizer)",
        ),
        symptom="type(optimizer) is torch.optim.SGD",
        needs="accelerate",
    ),
    "a Trainer leaves the division to compute_loss": case(
        "AG305",
        """
import tempfile
import transformers
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return {"x": torch.full((3,), i / 8), "labels": torch.tensor(0)}
class Net(nn.Linear):
    def forward(self, x, labels=None, **kwargs):
        return super().forward(x)
class Own(transformers.Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        logits = model(**inputs)
        loss = nn.functional.cross_entropy(logits, inputs["labels"])
        return (loss, logits) if return_outputs else loss
args = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(), per_device_train_batch_size=2, gradient_accumulation_steps=4, max_steps=1, use_cpu=True,
    report_to=[], disable_tqdm=True, save_strategy="no", logging_strategy="no", max_grad_norm=0.0,
)
net = Net(3, 4)
nn.init.zeros_(net.weight)
nn.init.zeros_(net.bias)
norms = []
class Norms(transformers.TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        norms.append(net.bias.grad.abs().sum().item())
with torch.random.fork_rng():
    Own(model=net, args=args, train_dataset=Rows(), callbacks=[Norms()]).train()
""",
        by(
            "Add the loss up over the items and divide it by `num_items_in_batch`",
            'inputs["labels"])\n',
            'inputs["labels"], reduction="sum") / num_items_in_batch\n',
        ),
        by(
            "or divide the mean by the number of micro-batches",
            'inputs["labels"])\n',
            'inputs["labels"]) / self.args.gradient_accumulation_steps\n',
        ),
        symptom="norms[0] > 3",
        needs="transformers",
    ),
    "micro-batches are divided twice": case(
        "AG305",
        """
import accelerate
accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
accelerate.state.GradientState._reset_state()
accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net, optimizer = accelerator.prepare(net, optimizer)
steps, start = accelerator.gradient_accumulation_steps, net.weight.detach().clone()
for _ in range(2):
    with accelerator.accumulate(net):
        loss = net(torch.ones(3, 4)).mean()
        loss = loss / steps
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
""",
        by("Do not divide the loss", "loss = loss / steps", "pass"),
        symptom="(start - net.weight).mean() < 0.09",
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
        by(
            "Update in place, under torch.no_grad(): `p -= 0.1 * p.grad`; then clear the gradient of each parameter before the next backward(): `p.grad = None`",
            "        p = p - 0.1 * p.grad",
            "        with torch.no_grad():\n            p -= 0.1 * p.grad\n        p.grad = None",
        ),
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
}
