"""The forward pass of two transformer layers, without gradients. Loaded by `worker.py`; Python 3.8 syntax.

An item is one sequence of 128 tokens. flop per item: 2 x inputs x outputs of each Linear for each token, and of the two
products of the attention: 2 x 2 x tokens x width for each token.
"""

import math
import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

WIDTH, HEADS, TOKENS, LAYERS = 256, 4, 128, 2
_BATCH = 8
#: What is compared comes from so many sequences, whatever the batch is.
_ANSWER_ITEMS = 2
_FLOP_PER_ITEM = 2.0 * LAYERS * TOKENS * (12 * WIDTH * WIDTH + 2 * TOKENS * WIDTH)


def layer(torch, fused):
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.into, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.wide, self.narrow, self.gelu = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.GELU()

        def forward(self, x):
            count = x.shape[0]
            parts = self.into(self.before(x)).reshape(count, TOKENS, 3, HEADS, WIDTH // HEADS)
            query, key, value = (parts[:, :, at].transpose(1, 2) for at in range(3))
            x = x + self.out(attention(query, key, value).transpose(1, 2).reshape(count, TOKENS, WIDTH))
            return x + self.narrow(self.gelu(self.wide(self.between(x))))

    def by_hand(query, key, value):
        scores = query @ key.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        return torch.softmax(scores, dim=-1) @ value

    attention = fused or by_hand
    return Layer()


class Inference:
    moved_bytes = None
    precision = "float32"

    def __init__(self, context):
        torch = context.torch
        self.context, self.torch = context, torch
        self.items = int(context.options.get("batch", _BATCH))
        self.flop = _FLOP_PER_ITEM * self.items
        # DirectML has no kernel of its own for it; releases before 2.0 have no such function.
        fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
        fused = fused if context.device.type in ("cpu", "cuda") else None
        # By hand, where autocast has no kernels.
        self.kind = torch.float16 if context.options.get("half") == "1" else torch.float32
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[layer(torch, fused) for _ in range(LAYERS)]).eval()
        self.model = model.to(self.kind).to(context.device)
        self.inputs = self._there(self.items)

    def _there(self, count):
        return numbers.normal(self.context, count, TOKENS, WIDTH).to(self.context.device, self.kind)

    def step(self):
        return self._forward(self.inputs)

    def _forward(self, inputs):
        with self.torch.no_grad(), self.context.autocast():
            return self.model(inputs)

    def answer(self):
        return numbers.few(self._forward(self._there(_ANSWER_ITEMS)))


def build(context):
    return Inference(context)
