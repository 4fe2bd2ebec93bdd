"""The arithmetic that PyTorch is exercised with, each piece against the same in float64 on the CPU.

`exercises.py` loads this file by its path. Every function takes its context: `context.torch` is the module,
`context.device` where to compute. It returns facts, or raises Wrong. Standard library only; Python 3.8 syntax.
"""

import time

# A wrong result is far off; a lower precision that was asked for (ONEDNN_DEFAULT_FPMATH_MODE=BF16) stays below.
TOLERANCE = 0.02


class Wrong(Exception):
    """A step that ran and gave a wrong result."""


def matmul(context):
    a, b = data(context, 250, 260), data(context, 260, 270)
    return compare(a.to(context.device) @ b.to(context.device), a.double() @ b.double())


def conv(context):
    return convolution(context, data(context, 2, 16, 28, 28), data(context, 24, 16, 3, 3), padding=1)


def conv1x1(context):
    return convolution(context, data(context, 2, 64, 28, 28), data(context, 48, 64, 1, 1), padding=0)


def conv1x1_onednn_off(context):
    with context.torch.backends.mkldnn.flags(enabled=False):
        return conv1x1(context)


def convolution(context, images, weights, padding):
    function = context.torch.nn.functional.conv2d
    exact = function(images.double(), weights.double(), padding=padding)
    return compare(function(images.to(context.device), weights.to(context.device), padding=padding), exact)


def dtype_bf16(context):
    """Result and time of one product of 512 x 512 matrices, in float32 and in bfloat16."""
    torch = context.torch
    a, b = data(context, 512, 512), data(context, 512, 512)
    a16, b16 = a.to(context.device, torch.bfloat16), b.to(context.device, torch.bfloat16)
    a, b = a.to(context.device), b.to(context.device)
    facts = compare((a16 @ b16).float(), a.double().cpu() @ b.double().cpu(), tolerance=0.05)
    facts["float32_seconds"] = best_seconds(lambda: a @ b)
    facts["bfloat16_seconds"] = best_seconds(lambda: a16 @ b16)
    return facts


def dtype_fp16(context):
    """A product in half precision, against the same half-precision numbers in float64."""
    a, b = data(context, 250, 260).half(), data(context, 260, 270).half()
    return compare((a.to(context.device) @ b.to(context.device)).float(), a.double() @ b.double())


def best_seconds(work, limit_seconds=0.06, most=8):
    """The shortest of a few runs on the CPU. The first may compile something: it counts only where it stays alone."""
    began, first, best = time.perf_counter(), None, None
    for _ in range(most):
        start = time.perf_counter()
        work()
        now = time.perf_counter()
        if first is None:
            first = now - start
        else:
            best = now - start if best is None else min(best, now - start)
        if now - began > limit_seconds:
            break
    return first if best is None else best


def train_step(context):
    """Two steps of gradient descent on a small convolutional network, written out: any torch.optim constructor would
    import the compiler as well, which takes longer than everything here."""
    shapes = (8, 1, 3, 3), (1, 8 * 12 * 12)
    images, targets = data(context, 6, 1, 12, 12), data(context, 6, 1)
    start = [data(context, *shape) * 0.1 for shape in shapes]
    exact, _ = descend(context, images.double(), targets.double(), [weight.double() for weight in start])
    device = context.device
    moved, losses = descend(context, images.to(device), targets.to(device), [weight.to(device) for weight in start])
    facts = compare(moved[0], exact[0])
    compare(moved[1], exact[1])
    facts["losses"] = losses
    if not losses[-1] < losses[0]:
        raise Wrong("two steps of training did not lower the loss")
    return facts


def descend(context, images, targets, weights, rate=0.01):
    torch, functional, losses = context.torch, context.torch.nn.functional, []
    for _ in range(3):
        weights = [weight.detach().requires_grad_() for weight in weights]
        hidden = functional.relu(functional.conv2d(images, weights[0], padding=1)).flatten(1)
        loss = ((functional.linear(hidden, weights[1]) - targets) ** 2).mean()
        loss.backward()
        losses.append(float(loss.detach()))
        with torch.no_grad():
            weights = [weight - rate * weight.grad for weight in weights]
    return weights, losses


def data(context, *shape):
    """Normal numbers, the same in every process, on the CPU."""
    generator = context.torch.Generator()
    generator.manual_seed(len(shape) + shape[0])
    return context.torch.randn(shape, generator=generator)


def compare(found, exact, tolerance=TOLERANCE):
    found = found.detach().cpu().double()
    error = float((found - exact).abs().max()) / max(float(exact.abs().max()), 1e-30)
    if not error <= tolerance:  # also where it is not a number
        raise Wrong("off by %.3g times the largest value" % error if error == error else "not a number")
    return {"relative_error": error}
