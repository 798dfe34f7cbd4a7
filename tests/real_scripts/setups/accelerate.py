"""The GLUE data set, its metric, the tokenizer and the pretrained BERT, which would be downloaded."""
import importlib.machinery
import sys
import types


class Sentences:
    column_names = ["sentence1", "sentence2", "label"]

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return {"input_ids": [1 + i % 7] * 10, "attention_mask": [1] * 10, "labels": i % 2}


class Splits(dict):
    def map(self, *args, **kwargs):
        return self

    def rename_column(self, *args):
        return self


class Metric:
    def add_batch(self, **batch):
        pass

    def compute(self):
        return {"accuracy": 0}


def module(name, **members):
    made = types.ModuleType(name)
    made.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(made).update(members)
    sys.modules[name] = made


def before(work, spec):
    import torch
    import transformers
    module("datasets", DatasetDict=Splits,
           load_dataset=lambda *args, **kwargs: Splits(train=Sentences(192), validation=Sentences(64)))
    module("evaluate", load=lambda *args, **kwargs: Metric())

    class Tokenizer:
        @staticmethod
        def from_pretrained(*args, **kwargs):
            return Tokenizer()

        def pad(self, examples, **kwargs):
            return transformers.BatchEncoding(
                {key: torch.tensor([example[key] for example in examples]) for key in examples[0]})

    class Model:
        @staticmethod
        def from_pretrained(*args, **kwargs):
            return transformers.BertForSequenceClassification(transformers.BertConfig(
                vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64))
    transformers.AutoTokenizer = Tokenizer
    transformers.AutoModelForSequenceClassification = Model
