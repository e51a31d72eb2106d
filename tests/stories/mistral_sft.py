"""Story 3 as it should be: Mistral with LoRA adapters and checkpointing, trained by trl."""

import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

from .mistral_model import LORA, tiny_mistral
from .story import Healthy


def fine_tune_with_trl() -> float:
    """The beaten track: trl's trainer takes care of adapters, checkpointing and masks."""
    words = ["<pad>", "<s>", "</s>", "<unk>", *(f"word{number}" for number in range(60))]
    splitter = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=splitter, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    lines = [" ".join(f"word{(start + 7 * i) % 60}" for i in range(4 + start)) for start in range(6)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(
            output_dir=folder,
            max_steps=2,
            per_device_train_batch_size=2,
            max_length=16,
            gradient_checkpointing=True,
            learning_rate=1e-3,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = SFTTrainer(
            model=tiny_mistral(layers=2),
            args=arguments,
            train_dataset=Dataset.from_dict({"text": lines}),
            processing_class=tokenizer,
            peft_config=LORA,
        )
        return trainer.train().training_loss


HEALTHY = (Healthy(3, "trl-sft", "trl's SFTTrainer with LoRA and gradient checkpointing", fine_tune_with_trl),)
