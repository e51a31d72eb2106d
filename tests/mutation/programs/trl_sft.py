# inlined: trl.trainer.sft_trainer
import tempfile

from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer


def words():
    known = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{number}" for number in range(20))]
    splitter = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=splitter, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def run():
    config = LlamaConfig(
        vocab_size=24,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        use_cache=False,
        pad_token_id=0,
    )
    lines = [" ".join(f"w{(start + 7 * i) % 20}" for i in range(3 + start)) for start in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = SFTConfig(
            output_dir=folder,
            max_steps=4,
            per_device_train_batch_size=2,
            max_length=12,
            learning_rate=1e-3,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = SFTTrainer(
            model=LlamaForCausalLM(config),
            args=arguments,
            train_dataset=Dataset.from_dict({"text": lines}),
            processing_class=words(),
            peft_config=LoraConfig(r=2, target_modules=["q_proj", "v_proj"]),
        )
        trainer.train()
    return trainer.model
