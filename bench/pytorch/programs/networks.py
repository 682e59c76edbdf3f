"""Networks of many kinds, written out: diffusion, mixers, generators, dilated convolutions, experts, radiance fields, policies, codebooks."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, adam, cross_entropy, infer, mean_squared_error, train

NEEDS = ()
PROGRAMS = Programs()


class ResidualBlock(nn.Module):
    def __init__(self, channels, new_channels):
        super().__init__()
        self.first_norm = nn.GroupNorm(8, channels)
        self.first = nn.Conv2d(channels, new_channels, 3, padding=1)
        self.time = nn.Linear(64, new_channels)
        self.second_norm = nn.GroupNorm(8, new_channels)
        self.second = nn.Conv2d(new_channels, new_channels, 3, padding=1)
        self.skip = nn.Conv2d(channels, new_channels, 1)

    def forward(self, x, time):
        hidden = self.first(F.silu(self.first_norm(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(F.silu(self.second_norm(hidden)))


class DiffusionUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(64, 64), nn.SiLU())
        self.enter = nn.Conv2d(3, 32, 3, padding=1)
        self.fine = ResidualBlock(32, 32)
        self.down = nn.Conv2d(32, 64, 3, 2, 1)
        self.coarse = ResidualBlock(64, 64)
        self.heads = nn.Conv2d(64, 192, 1)
        self.attended = nn.Conv2d(64, 64, 1)
        self.middle = ResidualBlock(64, 64)
        self.up = nn.ConvTranspose2d(64, 32, 4, 2, 1)
        self.joined = ResidualBlock(64, 32)
        self.leave = nn.Conv2d(32, 3, 3, padding=1)

    def attend(self, x):
        query, key, value = (part[:, None] for part in self.heads(x).flatten(2).transpose(1, 2).chunk(3, -1))
        result = F.scaled_dot_product_attention(query, key, value)[:, 0]
        return self.attended(result.transpose(1, 2).reshape(x.shape))

    def forward(self, x, time):
        angles = time[:, None] * torch.exp(-math.log(1e4) * torch.arange(32, device=x.device) / 32)
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        fine = self.fine(self.enter(x), time)
        coarse = self.coarse(self.down(fine), time)
        coarse = self.middle(coarse + self.attend(coarse), time)
        return self.leave(self.joined(torch.cat([self.up(coarse), fine], 1), time))


@PROGRAMS.add(tolerance=1e-2)
def diffusion_unet_train(device):
    inputs = torch.randn(4, 3, 32, 32), torch.rand(4) * 1000, torch.randn(4, 3, 32, 32)
    return train(DiffusionUnet(), inputs, lambda model, images, times, noise: F.mse_loss(model(images, times), noise), device)


@PROGRAMS.add(tolerance=5e-3)
def diffusion_sample_4_steps(device):
    def sample(model, x):
        for i in range(4, 0, -1):
            x = x - 0.1 * model(x, torch.full((1,), i * 250.0, device=x.device))
        return x

    return infer(DiffusionUnet(), (torch.randn(1, 3, 32, 32),), device, sample)


class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.first_norm = nn.LayerNorm(64)
        self.places = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        self.second_norm = nn.LayerNorm(64)
        self.channels = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x):
        x = x + self.places(self.first_norm(x).mT).mT
        return x + self.channels(self.second_norm(x))


class Transpose(nn.Module):
    def forward(self, x):
        return x.mT


@PROGRAMS.add(tolerance=1e-2)
def mlp_mixer_train(device):
    model = nn.Sequential(nn.Conv2d(3, 64, 8, 8), nn.Flatten(2), Transpose(), MixerBlock(), MixerBlock(), nn.LayerNorm(64), nn.Flatten(), nn.Linear(4096, 10))
    return train(model, (torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))), cross_entropy, device)


@PROGRAMS.add(tolerance=1e-2)
def adversarial_generator_train(device):
    generator = nn.Sequential(
        nn.ConvTranspose2d(64, 64, 4), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()).to(device)
    judge = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 1, 4)).to(device)
    generator_updates = adam(list(generator.parameters()))
    judge_updates = adam(list(judge.parameters()))
    noise = torch.randn(8, 64, 1, 1).to(device)
    real = torch.randn(8, 3, 16, 16).to(device)

    def step():
        made = generator(noise)
        judge_updates.zero_grad()
        judge_loss = F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()
        judge_loss.backward()
        judge_updates.step()
        generator_updates.zero_grad()
        generator_loss = F.softplus(-judge(made)).mean()
        generator_loss.backward()
        generator_updates.step()
        return [judge_loss.detach(), generator_loss.detach()]

    return step


class DilatedConvolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(1, 32, 1)
        self.gates = nn.ModuleList([nn.Conv1d(32, 64, 2, dilation=2 ** i) for i in range(6)])
        self.residuals = nn.ModuleList([nn.Conv1d(32, 32, 1) for _ in range(6)])
        self.leave = nn.Conv1d(32, 64, 1)

    def forward(self, x):
        x = self.enter(x)
        for i, (gate, residual) in enumerate(zip(self.gates, self.residuals)):
            value, opening = gate(F.pad(x, (2 ** i, 0))).chunk(2, 1)
            x = x + residual(value.tanh() * opening.sigmoid())
        return self.leave(x)


@PROGRAMS.add(tolerance=1e-2)
def wavenet_train(device):
    return train(DilatedConvolutions(), (torch.randn(2, 1, 1024), torch.randint(0, 64, (2, 1024))), cross_entropy, device)


@PROGRAMS.add(tolerance=1e-2)
def volume_convolutions_train(device):
    model = nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2),
        nn.Conv3d(8, 16, 3, padding=1, groups=4), nn.ReLU(),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 4))
    return train(model, (torch.randn(2, 1, 16, 32, 32), torch.randint(0, 4, (2,))), cross_entropy, device)


class Experts(nn.Module):
    """Two of eight experts per token by weight; all of them are computed."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 8)
        self.enter = nn.Parameter(torch.randn(8, 64, 128) * 0.1)
        self.leave = nn.Parameter(torch.randn(8, 128, 64) * 0.1)

    def forward(self, x):
        chances = self.gate(x).softmax(-1)
        best, experts = chances.topk(2, -1)
        weights = torch.zeros_like(chances).scatter(1, experts, best)
        hidden = F.gelu(torch.einsum('td,edh->eth', x, self.enter))
        return torch.einsum('te,etd->td', weights, torch.bmm(hidden, self.leave))


@PROGRAMS.add(tolerance=1e-2)
def mixture_of_experts_train(device):
    return train(Experts(), (torch.randn(256, 64), torch.randn(256, 64)), mean_squared_error, device)


class RadianceField(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, origins, directions):
        distances = torch.linspace(0.1, 2, 32, device=origins.device)
        points = origins[:, None] + directions[:, None] * distances[:, None]
        frequencies = 2.0 ** torch.arange(6, device=origins.device)
        angles = (points[..., None] * frequencies).flatten(-2)
        field = self.layers(torch.cat([angles.sin(), angles.cos()], -1))
        opacity = 1 - torch.exp(-F.relu(field[..., 3]) * 0.06)
        passed = torch.cumprod(torch.cat([torch.ones_like(opacity[:, :1]), 1 - opacity + 1e-10], 1), 1)[:, :-1]
        return ((opacity * passed)[..., None] * field[..., :3].sigmoid()).sum(1)


@PROGRAMS.add(tolerance=1e-2)
def radiance_field_train(device):
    inputs = torch.randn(256, 3), F.normalize(torch.randn(256, 3), dim=-1), torch.rand(256, 3)
    return train(RadianceField(), inputs, lambda model, origins, directions, colors: F.mse_loss(model(origins, directions), colors), device)


def generalized_advantages(rewards, values):
    """Of each step by the rewards and values of those after it; values have one more step."""
    advantages = []
    advantage = torch.zeros_like(values[0])
    for i in range(len(rewards) - 1, -1, -1):
        advantage = rewards[i] + 0.99 * values[i + 1] - values[i] + 0.95 * 0.99 * advantage
        advantages.append(advantage)
    advantages = torch.stack(advantages[::-1])
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


@PROGRAMS.add(tolerance=1e-2)
def proximal_policy_update(device):
    def loss(model, states, actions, rewards, old):
        outputs = model(states)
        chosen = outputs[..., :6].log_softmax(-1).gather(-1, actions[..., None])[..., 0]
        values = outputs[..., 6]
        fixed = values.detach()
        advantages = generalized_advantages(rewards, fixed)
        ratio = (chosen[:-1] - old[:-1]).exp()
        policy = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        return policy + 0.5 * ((values[:-1] - fixed[:-1] - advantages) ** 2).mean()

    model = nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 7))
    inputs = torch.randn(33, 16, 17), torch.randint(0, 6, (33, 16)), torch.randn(32, 16), torch.randn(33, 16) * 0.1 - 1.8
    return train(model, inputs, loss, device, adam, clip=0.5)


class Codebook(nn.Module):
    """A quantized autoencoder; its result is its loss."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Conv2d(3, 32, 4, 4)
        self.codes = nn.Embedding(128, 32)
        self.decoder = nn.ConvTranspose2d(32, 3, 4, 4)

    def forward(self, x):
        encoded = self.encoder(x).permute(0, 2, 3, 1)
        flat = encoded.reshape(-1, 32)
        distances = (flat ** 2).sum(1, keepdim=True) - 2 * flat @ self.codes.weight.T + (self.codes.weight ** 2).sum(1)
        nearest = self.codes(distances.argmin(1)).view(encoded.shape)
        decoded = self.decoder((encoded + (nearest - encoded).detach()).permute(0, 3, 1, 2))
        return F.mse_loss(decoded, x) + F.mse_loss(nearest, encoded.detach()) + 0.25 * F.mse_loss(encoded, nearest.detach())


@PROGRAMS.add(tolerance=1e-2)
def codebook_autoencoder_train(device):
    return train(Codebook(), (torch.randn(4, 3, 64, 64),), lambda model, x: model(x), device)
