"""Integers, quantization, floating point of 16 and 64 bits, and programs that draw random numbers on the device (whose results are not compared)."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, adam, cross_entropy, infer, pure, sgd, train

NEEDS = ()
PROGRAMS = Programs()


@PROGRAMS.add()
def hash_of_int32(device):
    def mix(x):
        for _ in range(8):
            x = x ^ (x >> 16)
            x = x * 0x45d9f3b
            x = x ^ (x << 7)
            x = (x & 0x7fffffff) | 1
        return x, x % 1000, x // 7

    return pure(mix, (torch.randint(0, 2 ** 31 - 1, (100000,), dtype=torch.int32),), device)


@PROGRAMS.add()
def population_count_of_int64(device):
    def count(x):
        x = x - ((x >> 1) & 0x5555555555555555)
        x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f
        return (x * 0x0101010101010101) >> 56, x.sum(), x.cumsum(0)

    return pure(count, (torch.randint(0, 2 ** 62, (50000,)),), device)


@PROGRAMS.add()
def game_of_life_20_steps(device):
    neighbors = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]

    def play(cells):
        for _ in range(20):
            count = sum(cells.roll(shift, (0, 1)) for shift in neighbors)
            cells = ((count == 3) | ((cells == 1) & (count == 2))).to(torch.int8)
        return cells

    return pure(play, (torch.randint(0, 2, (128, 128), dtype=torch.int8),), device)


@PROGRAMS.add()
def quantized_int8_linear(device):
    def linear(x, weights):
        sums = x.to(torch.int32) @ weights.to(torch.int32)
        return torch.clamp((sums + 64) >> 7, -128, 127).to(torch.int8)

    return pure(linear, (torch.randint(-128, 127, (64, 256), dtype=torch.int8), torch.randint(-128, 127, (256, 256), dtype=torch.int8)), device)


class QuantizedPerceptron(nn.Module):
    """Values and weights rounded to 8 bits on the way forward, with the gradients of those that are not."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(128, 128)
        self.second = nn.Linear(128, 10)

    def quantize(self, x):
        scale = x.abs().amax() / 127
        return x + ((x / scale).round().clamp(-128, 127) * scale - x).detach()

    def forward(self, x):
        hidden = F.relu(F.linear(self.quantize(x), self.quantize(self.first.weight), self.first.bias))
        return F.linear(hidden, self.quantize(self.second.weight), self.second.bias)


@PROGRAMS.add(tolerance=1e-2)
def quantization_aware_train(device):
    return train(QuantizedPerceptron(), (torch.randn(128, 128), torch.randint(0, 10, (128,))), cross_entropy, device)


@PROGRAMS.add(tolerance=3e-2)
def float16_perceptron_train(device):
    def loss(model, x, labels):
        return F.cross_entropy(model(x).float(), labels)

    model = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 10)).half()
    return train(model, (torch.randn(64, 128).half(), torch.randint(0, 10, (64,))), loss, device, sgd)


@PROGRAMS.add(tolerance=6e-2)
def bfloat16_convolutions_forward(device):
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.GELU()).bfloat16()
    return infer(model, (torch.randn(4, 3, 48, 48).bfloat16(),), device)


@PROGRAMS.add(tolerance=1e-5)
def float64_perceptron_train(device):
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10)).double()
    return train(model, (torch.randn(64, 64).double(), torch.randint(0, 10, (64,))), cross_entropy, device)


@PROGRAMS.add(check=False)
def nucleus_sampling_6_tokens(device):
    def sample(weights, embeddings):
        words = torch.zeros(4, dtype=torch.int64, device=weights.device)
        for _ in range(6):
            logits, order = (embeddings[words] @ weights / 8).sort(descending=True, stable=True)
            chances = logits.softmax(-1)
            chances = chances.masked_fill(chances.cumsum(-1) - chances > 0.9, 0.0)
            noise = -torch.log(-torch.log(torch.rand_like(chances) + 1e-9) + 1e-9)
            words = order.gather(1, (chances.log() + noise).argmax(-1, keepdim=True))[:, 0]
        return words

    return pure(sample, (torch.randn(64, 500), torch.randn(500, 64)), device)


class VariationalAutoencoder(nn.Module):
    """Its result is its loss."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 64))
        self.decoder = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, 1)
        latent = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).mean()
        return F.binary_cross_entropy_with_logits(self.decoder(latent), x) + divergence


@PROGRAMS.add(check=False)
def variational_autoencoder_with_dropout_train(device):
    return train(VariationalAutoencoder(), (torch.rand(64, 784),), lambda model, x: model(x), device, adam)


@PROGRAMS.add(check=False)
def metropolis_20_steps(device):
    def walk(x):
        for _ in range(20):
            proposed = x + 0.3 * torch.randn_like(x)
            chance = torch.exp(0.5 * ((x ** 2).sum(1) - (proposed ** 2).sum(1)))
            x = torch.where((torch.rand(10000, device=x.device) < chance)[:, None], proposed, x)
        return x

    return pure(walk, (torch.randn(10000, 2),), device)


@PROGRAMS.add(check=False)
def random_draws_and_permutation(device):
    def draw(chances):
        return torch.multinomial(chances, 8, replacement=True), torch.bernoulli(chances), torch.randperm(1000, device=chances.device)

    return pure(draw, (torch.rand(64, 200),), device)
