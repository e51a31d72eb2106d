"""Story 2: T5 with an added classification head, trained by Lightning, loses its way back to the weights."""

import torch
from torch import Tensor

from .story import Healthy, Story
from .t5_model import Batch, FineTuning, LinearProbe, T5Classifier, TwoLosses, fit


class DetachedFineTuning(FineTuning):
    """Kept from the first stage: the head sees a copy of the hidden states."""

    def decode(self, ids: Tensor) -> Tensor:
        out = self.t5(input_ids=ids, labels=ids, output_hidden_states=True)
        return out.decoder_hidden_states[-1].detach()[:, -1]


class DetachedJoint(T5Classifier):
    """The same copy while head and T5 are trained together: the head learns, T5 does not."""

    def decode(self, ids: Tensor) -> Tensor:
        out = self.t5(input_ids=ids, labels=ids, output_hidden_states=True)
        decoder_hidden_states = out.decoder_hidden_states[-1].detach()
        return decoder_hidden_states[:, -1]


class EncodedWithoutGrad(FineTuning):
    """A helper written for evaluation is also what training calls."""

    def decode(self, ids: Tensor) -> Tensor:
        with torch.no_grad():
            return super().decode(ids)


class InferenceFeatures(T5Classifier):
    """T5 was meant to be a fast feature extractor."""

    @torch.inference_mode()
    def decode(self, ids: Tensor) -> Tensor:
        out = self.t5(input_ids=ids, labels=ids, output_hidden_states=True)
        return out.decoder_hidden_states[-1][:, -1]


class LossFromNumbers(TwoLosses):
    """Averages the two losses as numbers."""

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        values = [loss.item() for loss in self.losses(batch)]
        return torch.tensor(values).mean()


class LossMadeTrainable(TwoLosses):
    """The same, with the error message out of the way."""

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        total = sum(loss.item() for loss in self.losses(batch))
        return torch.tensor(total / 2, requires_grad=True)


NO_GRAD_FN = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
LEFT_GRAPH = "torch.tensor("

STORIES = (
    Story(
        2,
        "hidden-states-detached",
        "The frozen head is fed detached hidden states, so nothing reaches T5",
        broken=lambda: fit(DetachedFineTuning),
        repaired=lambda: fit(FineTuning),
        raises=NO_GRAD_FN,
        rules=("AG101",),
        culprits=("out.decoder_hidden_states[-1].detach()",),
        names=("decoder_hidden_states", "detach"),
    ),
    Story(
        2,
        "t5-never-learns",
        "Detached hidden states, and a head that learns all the same",
        broken=lambda: fit(DetachedJoint),
        repaired=lambda: fit(T5Classifier),
        raises=None,
        rules=("AG101",),
        culprits=("out.decoder_hidden_states[-1].detach()",),
        names=("decoder_hidden_states", "detach", "t5"),
    ),
    Story(
        2,
        "loss-from-numbers",
        "The loss is averaged from Python numbers",
        broken=lambda: fit(LossFromNumbers),
        repaired=lambda: fit(TwoLosses),
        raises=NO_GRAD_FN,
        rules=("AG105",),
        culprits=("loss.item()", LEFT_GRAPH),
        names=("loss",),
    ),
    Story(
        2,
        "loss-made-trainable",
        "requires_grad=True silences the error and nothing learns",
        broken=lambda: fit(LossMadeTrainable),
        repaired=lambda: fit(TwoLosses),
        raises=None,
        rules=("AG105",),
        culprits=("loss.item()", LEFT_GRAPH),
        names=("loss",),
    ),
    Story(
        2,
        "t5-without-grad",
        "T5 runs inside torch.no_grad() and the head is frozen",
        broken=lambda: fit(EncodedWithoutGrad),
        repaired=lambda: fit(FineTuning),
        raises=NO_GRAD_FN,
        rules=("AG102",),
        culprits=("with torch.no_grad():", "return super().decode(ids)"),
        names=("no_grad",),
    ),
    Story(
        2,
        "inference-features",
        "Hidden states made in inference mode reach a head that learns",
        broken=lambda: fit(InferenceFeatures),
        repaired=lambda: fit(T5Classifier),
        raises="RuntimeError: Inference tensors cannot be saved for backward.",
        rules=("AG103",),
        culprits=("@torch.inference_mode()", "self.t5(input_ids=ids", "out.decoder_hidden_states[-1][:, -1]"),
        names=("decoder_hidden_states", "inference"),
    ),
)

HEALTHY = (Healthy(2, "linear-probe", "A frozen T5 under no_grad feeds a head that learns", lambda: fit(LinearProbe)),)
