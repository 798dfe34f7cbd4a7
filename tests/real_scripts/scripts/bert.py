"""What the command `bert` of codertimo/BERT-pytorch does (setup.py's entry point)."""
from bert_pytorch.__main__ import train

train()
