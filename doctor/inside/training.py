"""A training step around any small model: gradients, optimizer, accumulation, and what its loss tells.

`worker.py` loads this file by its path. The optimizers are written out, with the formulas of torch.optim: any of its
constructors imports the compiler of PyTorch, which takes longer than what is timed here. Where the optimizer itself is
the question (`foreach`), or a device of its own needs the real one (`fit`), torch.optim does it. Standard library and
the target's torch only; Python 3.8 syntax.
"""

import sys

numbers = sys.modules["_workload_numbers_of_the_doctor"]

#: What is compared of every setting: on a busy machine a step waits for whichever thread was stopped, so few.
ANSWER_STEPS = 4
#: Another type is judged by the loss after so many steps.
LOSS_STEPS = 20

_MOMENTUM = 0.9
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


class Training:
    """`make(context)` gives the model on the CPU, made from a fixed seed; `batch(context, count)` inputs and targets
    on the CPU; `loss(outputs, targets)` a number to lower. `rule` is "sgd", "momentum" or "adam".

    The loss that is told comes from `loss_items` items whatever the batch is, so that settings with other batches stay
    comparable. `items` counts what one step of the optimizer trains on: batch x accumulation steps.
    """

    moved_bytes = None
    precision = "float32"

    def __init__(self, context, make, batch, loss, rule, rate, count, loss_items, flop_per_item, batches=None,
                 torch_optim=False):
        options = context.options
        self.context, self.loss_of = context, loss
        self.accumulate = int(options.get("accumulate", 1))
        count = int(options.get("batch", count))
        self.items = count * self.accumulate
        self.flop = flop_per_item * self.items
        context.torch.manual_seed(0)
        self.model = make(context).to(context.device)
        # Behind .to(): on some devices it puts new parameters in the place of the old ones.
        self.parameters = list(self.model.parameters())
        self.start = [tensor.detach().clone() for tensor in self.state()]
        self.optimizer = optimizer(context, self.parameters, rule, rate, torch_optim)
        self.few = self._moved(batch(context, loss_items))
        self.batches = batches(context, count) if batches is not None and "loader_workers" in options else None
        self.data = None if self.batches is not None else self._moved(batch(context, count))
        self.loss = None

    def state(self):
        return [*self.parameters, *self.model.buffers()]

    def _moved(self, pair):
        return tuple(tensor.to(self.context.device) for tensor in pair)

    def step(self):
        for _ in range(self.accumulate):
            inputs, targets = self.data if self.batches is None else self._moved(next(self.batches))
            self._backward(inputs, targets, self.accumulate)
        self.optimizer.step()
        return self.parameters[-1]

    def _backward(self, inputs, targets, share=1):
        with self.context.autocast():
            loss = self.loss_of(self.model(inputs), targets)
        (loss if share == 1 else loss / share).backward()
        return loss

    def _check_gradients(self):
        """Some devices lose them: those of a parameter that .to() has left behind."""
        lost = sum(parameter.grad is None for parameter in self.parameters)
        if lost:
            raise numbers.Wrong("no gradient reached %d of %d parameters" % (lost, len(self.parameters)))

    def reset(self):
        with self.context.torch.no_grad():
            for tensor, start in zip(self.state(), self.start):
                tensor.copy_(start)
        self.optimizer.forget()
        return self.parameters[-1]

    def answer(self):
        """The loss before the first step and after a few; `loss` is the one after many, where it was asked for."""
        values = [self._loss_of_few()]
        self._train_on_few(ANSWER_STEPS)
        values.append(self._loss_of_few())
        if values[1] == values[0]:
            raise numbers.Wrong("%d steps of training left the loss as it was" % ANSWER_STEPS)
        if self.context.loss:
            self._train_on_few(LOSS_STEPS - ANSWER_STEPS)
            self.loss = self._loss_of_few()
        self.reset()
        if self.batches is not None:
            self.batches.drain()
        return values

    def _train_on_few(self, steps):
        for _ in range(steps):
            self._backward(*self.few)
            self._check_gradients()
            self.optimizer.step()

    def _loss_of_few(self):
        with self.context.torch.no_grad(), self.context.autocast():
            return float(self.loss_of(self.model(self.few[0]), self.few[1]).cpu())


def optimizer(context, parameters, rule, rate, torch_optim):
    foreach = context.options.get("foreach")
    if foreach is None and not torch_optim:
        return (Adam if rule == "adam" else Descent)(context.torch, parameters, rate, rule)
    named = {} if foreach in (None, "default") else {"foreach": foreach == "1"}
    if rule == "adam":
        return FromTorch(context.torch.optim.Adam(parameters, lr=rate, **named))
    momentum = _MOMENTUM if rule == "momentum" else 0.0
    return FromTorch(context.torch.optim.SGD(parameters, lr=rate, momentum=momentum, **named))


class FromTorch:
    """One of torch.optim."""

    def __init__(self, inner):
        self.inner = inner

    def step(self):
        self.inner.step()
        self.inner.zero_grad()

    def forget(self):
        self.inner.state.clear()


class Descent:
    """Gradient descent, with momentum where the rule says so."""

    def __init__(self, torch, parameters, rate, rule):
        self.torch, self.parameters, self.rate = torch, parameters, rate
        self.velocities = [torch.zeros_like(each) for each in parameters] if rule == "momentum" else None

    def step(self):
        with self.torch.no_grad():
            for at, parameter in enumerate(self.parameters):
                change = parameter.grad
                if self.velocities is not None:
                    change = self.velocities[at].mul_(_MOMENTUM).add_(change)
                parameter.add_(change, alpha=-self.rate)
                parameter.grad = None

    def forget(self):
        for velocity in self.velocities or ():
            velocity.zero_()


class Adam:
    def __init__(self, torch, parameters, rate, rule):
        self.torch, self.parameters, self.rate = torch, parameters, rate
        self.means = [torch.zeros_like(each) for each in parameters]
        self.squares = [torch.zeros_like(each) for each in parameters]
        self.steps = 0

    def step(self):
        self.steps += 1
        rate = self.rate / (1 - _BETA1**self.steps)
        scale = (1 - _BETA2**self.steps) ** 0.5
        with self.torch.no_grad():
            for parameter, mean, square in zip(self.parameters, self.means, self.squares):
                gradient = parameter.grad
                mean.mul_(_BETA1).add_(gradient, alpha=1 - _BETA1)
                square.mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
                parameter.addcdiv_(mean, (square.sqrt() / scale).add_(_EPSILON), value=-rate)
                parameter.grad = None

    def forget(self):
        self.steps = 0
        for tensor in [*self.means, *self.squares]:
            tensor.zero_()
