"""Small models on an adapter against the same on the CPU: forward, gradients, optimizers, common operators.

`directml_exercises.py` loads this file by its path, behind `exercises.py`. Every function takes its context (see
`arithmetic.py`); it returns facts, or raises Wrong. Standard library only; Python 3.8 syntax.
"""

import copy
import sys

#: Loaded by `exercises.py`: one module, so that there is one Wrong.
arithmetic = sys.modules["_arithmetic_of_the_doctor"]
Wrong, data, compare = arithmetic.Wrong, arithmetic.data, arithmetic.compare

#: A trained model that answers otherwise than on the CPU is wrong well below what a product may be off.
EVAL_TOLERANCE = 0.01
TRAINING_STEPS = 6


class OperatorFailed(Exception):
    """Operators that raised, in words."""


def fill(context, model):
    """Numbers for the parameters that are the same in every process and on every device."""
    for at, parameter in enumerate(model.parameters()):
        parameter.data.copy_(data(context, *parameter.shape) * 0.3 + 0.01 * at)


def eval_forward(context):
    """A convolution with batch normalisation, as a trained model uses it."""
    nn = context.torch.nn
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 1))
    fill(context, model)
    model[1].running_mean.copy_(data(context, 8) * 0.1)
    model[1].running_var.copy_(data(context, 8).abs() + 0.5)
    images = data(context, 2, 3, 16, 16)
    with context.torch.no_grad():
        exact = copy.deepcopy(model).double().eval()(images.double())
        return compare(model.eval().to(context.device)(images.to(context.device)), exact, EVAL_TOLERANCE)


# Gradients


def network(context):
    nn = context.torch.nn
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    fill(context, model)
    return model


def mse(context, outputs):
    return ((outputs - 0.5) ** 2).mean()


def cross_entropy(context, outputs):
    """Without reduction, weighted afterwards, as with a loss that leaves some tokens out."""
    labels = (context.torch.arange(outputs.shape[0]) % 4).to(outputs.device)
    weights = context.torch.linspace(0.0, 1.0, outputs.shape[0]).to(outputs.dtype).to(outputs.device)
    return (context.torch.nn.functional.cross_entropy(outputs, labels, reduction="none") * weights).mean()


def masked_fill(context, outputs):
    mask = (context.torch.arange(outputs.numel()) % 3 == 0).reshape(outputs.shape).to(outputs.device)
    return (outputs.masked_fill(mask, 0.0) ** 2).mean()


#: How losses are called in words, and the function.
LOSSES = (("a squared error", mse), ("cross_entropy without reduction", cross_entropy), ("masked_fill", masked_fill))


def backward(context, model, inputs, loss):
    """The gradients of a loss, None for a parameter that has none."""
    loss(context, model(inputs)).backward()
    return [parameter.grad for parameter in model.parameters()]


def gradients(context):
    """Does one backward() reach every parameter of a model that was moved?"""
    model = network(context).to(context.device)
    found = backward(context, model, data(context, 9, 6).to(context.device), mse)
    missing = sum(gradient is None for gradient in found)
    if missing:
        raise Wrong("no gradient reached %d of %d parameters" % (missing, len(found)))
    return {}


def gradient_parity(context):
    """The gradients of some losses against those on the CPU."""
    facts, wrong = {}, []
    inputs = data(context, 9, 6)
    for words, loss in LOSSES:
        exact = backward(context, network(context).double(), inputs.double(), loss)
        found = backward(context, network(context).to(context.device), inputs.to(context.device), loss)
        for at, gradient in enumerate(found):
            try:
                if gradient is None:
                    raise Wrong("no gradient")
                facts = compare(gradient, exact[at])
            except Wrong as reason:
                wrong.append("the gradients of %s: %s" % (words, reason))
                break
    if wrong:
        raise Wrong("; ".join(wrong))
    return facts


# Optimizers. The first of them imports the compiler of PyTorch, which takes a second.


def adam(context, model, **options):
    return context.torch.optim.Adam(model.parameters(), lr=0.05, **options)


def trained(context, device, made, **options):
    """Losses over some steps, and how many parameters moved. `made` is where the optimizer is made."""
    model, inputs = network(context), data(context, 9, 6).to(device)
    optimizer = adam(context, model, **options) if made == "before .to()" else None
    model = model.to(device)
    start = [parameter.detach().cpu().clone() for parameter in model.parameters()]
    if made == "after .to()":
        optimizer = adam(context, model, **options)
    losses = []
    for _ in range(TRAINING_STEPS):
        if made == "inside the loop":
            optimizer = adam(context, model, **options)
        optimizer.zero_grad()
        loss = mse(context, model(inputs))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach().cpu()))
    ends = [parameter.detach().cpu() for parameter in model.parameters()]
    moved = sum(not context.torch.equal(start[at], end) for at, end in enumerate(ends))
    return losses, moved, len(ends)


def like_on_the_cpu(context, made, **options):
    """The steps on the adapter against those on the CPU with the optimizer made at the same place."""
    expected, _, _ = trained(context, "cpu", made, **options)
    losses, moved, of = trained(context, context.device, made, **options)
    if not moved:
        raise Wrong("no parameter moved")
    if moved < of:
        raise Wrong("only %d of %d parameters moved" % (moved, of))
    facts = compare(context.torch.tensor(losses), context.torch.tensor(expected).double())
    facts["losses"] = losses
    return facts


def optimizer(context):
    """Adam as one writes it, made behind `.to()`, as it has to be."""
    return like_on_the_cpu(context, "after .to()")


def optimizer_foreach_off(context):
    return like_on_the_cpu(context, "after .to()", foreach=False)


def optimizer_inside_loop(context):
    """Made anew for every step: it trains, and forgets its state each time."""
    return like_on_the_cpu(context, "inside the loop")


def optimizer_before_to(context):
    """Made before `.to()`: on a device for which `.to()` makes new parameters, it keeps the old ones."""
    losses, moved, _ = trained(context, context.device, "before .to()")
    if not moved:
        raise Wrong("no parameter moved: .to() made new ones, and the optimizer kept those on the CPU")
    return {"losses": losses}


# Operators that models are made of. Which of them the CPU had to do is told by the warnings.


def operators(context):
    torch, functional = context.torch, context.torch.nn.functional
    rows, images = data(context, 8, 12), data(context, 2, 4, 6, 6)
    table, ids = data(context, 20, 5), torch.arange(7)
    tried = (
        ("softmax", lambda on: functional.softmax(on(rows), dim=-1)),
        ("layer_norm", lambda on: with_gradient(on(rows), lambda x: functional.layer_norm(x, (12,)))),
        ("group_norm", lambda on: with_gradient(on(images), lambda x: functional.group_norm(x, 2))),
        ("gelu", lambda on: with_gradient(on(rows), functional.gelu)),
        ("silu", lambda on: with_gradient(on(rows), functional.silu)),
        ("embedding", lambda on: with_gradient(on(table), lambda x: functional.embedding(on(ids), x))),
        ("max_pool2d", lambda on: with_gradient(on(images), lambda x: functional.max_pool2d(x, 2))),
        ("interpolate", lambda on: functional.interpolate(on(images), scale_factor=2.0, mode="nearest")),
        ("cumsum", lambda on: on(rows).cumsum(1)),
        ("topk", lambda on: on(rows).topk(3).values),
        ("argmax", lambda on: on(rows).argmax(1)),
        ("gather", lambda on: on(rows).gather(1, on(ids.reshape(1, 7)))),
        ("where", lambda on: torch.where(on(rows) > 0, on(rows), -on(rows))),
        ("cat", lambda on: torch.cat([on(rows), on(rows)], dim=1)),
    )
    failed, wrong = [], []
    for name, operator in tried:
        exact = operator(lambda tensor: tensor).double()
        try:
            compare(operator(lambda tensor: tensor.to(context.device)), exact)
        except Wrong as reason:
            wrong.append("%s: %s" % (name, reason))
        except Exception as error:
            failed.append("%s: %s" % (name, type(error).__name__))
    if failed:
        raise OperatorFailed("; ".join(failed))
    if wrong:
        raise Wrong("; ".join(wrong))
    return {}


def with_gradient(tensor, function):
    """The gradient of the sum of squares of what `function` makes of a tensor."""
    tensor = tensor.detach().requires_grad_()
    (function(tensor) ** 2).sum().backward()
    return tensor.grad
