# inlined: trl.trainer.reward_trainer
import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast
from trl import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer


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
        num_labels=1,
        use_cache=False,
        pad_token_id=0,
    )
    pairs = {
        "chosen": ["w1 w7 w8", "w2 w9", "w3 w10 w11", "w4 w12"] * 2,
        "rejected": ["w1 w13", "w2 w14 w15", "w3 w16", "w4 w17 w18"] * 2,
    }
    with tempfile.TemporaryDirectory() as folder:
        arguments = RewardConfig(
            output_dir=folder,
            max_steps=4,
            per_device_train_batch_size=2,
            learning_rate=1e-3,
            center_rewards_coefficient=0.01,
            gradient_checkpointing=False,
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = RewardTrainer(
            model=LlamaForSequenceClassification(config),
            args=arguments,
            train_dataset=Dataset.from_dict(pairs),
            processing_class=words(),
        )
        trainer.train()
    return trainer.model
