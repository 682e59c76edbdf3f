"""What the programs share: their register and the usual forms of a step.

A program is a function of the device that returns a step: a function without arguments that returns a list of tensors. It makes its weights and inputs on the host,
so that they are the same ones on every device, and moves them.
"""
import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Program:
    make: Callable  # Of the device; returns the step.
    tolerance: float  # Of the results, relative to the largest value of each.
    check: bool  # Whether results can be compared: random numbers of a device are its own.


class Programs(dict):
    """{name: Program} of a file, in its order."""

    def add(self, name=None, tolerance=2e-3, check=True):
        def register(make):
            self[name or make.__name__] = Program(make, tolerance, check)
            return make
        return register


def move(value, device):
    """Value with its tensors on the device; it may be a tensor or a tuple, list or dictionary of values."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: move(item, device) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(move(item, device) for item in value)
    return value


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3, foreach=False, capturable=False)


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, foreach=False)


def adamw_foreach(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, foreach=True)


def cross_entropy(model, inputs, labels):
    return F.cross_entropy(model(inputs), labels)


def mean_squared_error(model, inputs, wanted):
    return F.mse_loss(model(inputs), wanted)


def train(model, inputs, loss, device, optimizer=adamw, clip=None):
    """A step of training by loss(model, *inputs); its result is the loss."""
    model = model.to(device).train()
    inputs = move(inputs, device)
    updates = optimizer(list(model.parameters()))

    def step():
        updates.zero_grad(set_to_none=True)
        value = loss(model, *inputs)
        value.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip, foreach=False)
        updates.step()
        return [value.detach()]

    return step


def infer(model, inputs, device, call=None):
    """A step of inference: model(*inputs), or call(model, *inputs)."""
    model = model.to(device).eval()
    inputs = move(inputs, device)

    def step():
        with torch.no_grad():
            return as_list(call(model, *inputs) if call else model(*inputs))

    return step


def pure(function, inputs, device):
    """A step that is function(*inputs)."""
    inputs = move(inputs, device)

    def step():
        return as_list(function(*inputs))

    return step


def value_and_gradients(function, inputs, device):
    """A step that is the value of function(*inputs) and its gradients by all inputs of floating point."""
    inputs = move(inputs, device)
    variables = [value.requires_grad_() for value in inputs if value.is_floating_point()]

    def step():
        value = function(*inputs)
        return [value.detach(), *torch.autograd.grad(value, variables)]

    return step
