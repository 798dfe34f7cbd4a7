"""The trainer of sentence-transformers: pairs of sentences, with a transformer and a tokenizer that are made here."""
import logging
import tempfile

import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, TrainerCallback
from truth import tell

logging.disable(logging.WARNING)
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


class Count(TrainerCallback):
    steps = 0

    def on_step_end(self, *_, **__):
        Count.steps += 1


def sentence(i):
    return " ".join("w%d" % (i * k % 97) for k in range(1, 9))


torch.manual_seed(0)
with tempfile.TemporaryDirectory() as out:
    words = {word: i for i, word in enumerate([*SPECIAL.values(), *("w%d" % i for i in range(97))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **SPECIAL).save_pretrained(out)
    BertModel(BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                         intermediate_size=64, max_position_embeddings=64)).save_pretrained(out)
    encoder = Transformer(out)
    model = SentenceTransformer(modules=[encoder, Pooling(32)], device="cpu")
    pairs = Dataset.from_dict({"anchor": [sentence(i) for i in range(96)], "positive": [sentence(i + 1) for i in range(96)]})
    arguments = SentenceTransformerTrainingArguments(out + "/run", per_device_train_batch_size=8, num_train_epochs=2,
                                                     report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
                                                     logging_steps=6)
    SentenceTransformerTrainer(model=model, args=arguments, train_dataset=pairs, loss=MultipleNegativesRankingLoss(model),
                               callbacks=[Count()]).train()
    print(model.encode([sentence(3)]).shape)
tell(steps=Count.steps)
