"""A small GPT as people train it: embeddings, attention, clipped gradients, AdamW.

    gpt.py [fused|foreach] [flash|efficient|math] [bfloat16|float16]        the last: automatic mixed precision
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from shared import told
from torch.nn.attention import SDPBackend, sdpa_kernel

STEPS, VOCABULARY, WIDTH, BLOCKS, HEADS, LENGTH, BATCH = 6, 512, 128, 2, 4, 64, 4
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.three, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.three(self.before(x)).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def main(words):
    model = Gpt().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused="fused" in words, foreach="foreach" in words)
    half = next((getattr(torch, word) for word in words if "float" in word), None)
    scaler = torch.amp.GradScaler("cuda", enabled=half is torch.float16)
    backend = next((BACKENDS[word] for word in words if word in BACKENDS), SDPBackend.EFFICIENT_ATTENTION)
    for _ in range(STEPS):
        tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH)).cuda()
        with sdpa_kernel(backend), torch.autocast("cuda", half or torch.bfloat16, enabled=half is not None):
            loss = F.cross_entropy(model(tokens).view(-1, VOCABULARY), tokens.view(-1))
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    told(steps=STEPS, loss=loss.item())


if __name__ == "__main__":
    main(sys.argv[1:])
