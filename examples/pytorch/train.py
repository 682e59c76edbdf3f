#!/usr/bin/env python3
"""Trains a small convolutional network with PyTorch/XLA on the device that PJRT_DEVICE names, and with PyTorch itself beside it.

    PJRT_DEVICE=TENON python examples/pytorch/train.py

Prints the loss of both after each epoch, which is the same but for roundings, and what PyTorch/XLA's compilations took.
"""

import copy
import time

import torch
import torch_xla
import torch_xla.debug.metrics as metrics
from torch import nn


def make_data(seed=0):
    """Images of noise with one of four bright corners, and which corner it is."""
    torch.manual_seed(seed)
    images, labels = torch.randn(64, 1, 16, 16), torch.arange(64) % 4
    for image, label in zip(images, labels):
        row, column = 8 * (int(label) // 2), 8 * (int(label) % 2)
        image[0, row:row + 8, column:column + 8] += 1
    return images, labels


def make_model(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4))


def train(model, images, labels, epochs, sync=lambda: None):
    """The loss after each epoch, an epoch being one step on all images."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        sync()
        losses.append(loss.item())
    return losses


def main():
    device = torch_xla.device()
    images, labels = make_data()
    model = make_model()
    on_device = copy.deepcopy(model).to(device)
    started = time.perf_counter()
    losses = train(on_device, images.to(device), labels.to(device), 5, torch_xla.sync)
    seconds = time.perf_counter() - started
    expected = train(model, images, labels, 5)
    for epoch, (got, want) in enumerate(zip(losses, expected)):
        print(f'epoch {epoch}: loss {got:.5f}, by PyTorch {want:.5f}')
    compiled = metrics.metric_data('CompileTime')
    print(f'{seconds:.2f} s in all, {compiled[1] / 1e9:.2f} s in {compiled[0]} compilations')


if __name__ == '__main__':
    main()
