"""Operations on images: normalizations, pooling, resampling, sliding windows and augmentation."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, cross_entropy, pure, train, value_and_gradients

NEEDS = ()
PROGRAMS = Programs()


@PROGRAMS.add(tolerance=1e-2)
def normalizations_train(device):
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.SiLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.InstanceNorm2d(32, affine=True), nn.ELU(), nn.LocalResponseNorm(5),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return train(model, (torch.randn(4, 3, 48, 48), torch.randint(0, 10, (4,))), cross_entropy, device)


class VolumeNormalizations(nn.Module):
    def __init__(self):
        super().__init__()
        self.volumes = nn.BatchNorm3d(8)
        self.means = nn.BatchNorm1d(8)
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))

    def forward(self, x):
        return self.linear(self.means(self.volumes(x).mean((2, 3, 4))))


@PROGRAMS.add(tolerance=1e-2)
def volume_and_weight_normalizations_train(device):
    return train(VolumeNormalizations(), (torch.randn(8, 8, 8, 16, 16), torch.randint(0, 8, (8,))), cross_entropy, device)


@PROGRAMS.add()
def image_pooling_gradient(device):
    def loss(x):
        return ((F.max_pool2d(x, 3, 2, 1) ** 2).mean()
                + (F.avg_pool2d(x, 2) ** 2).mean()
                + (F.adaptive_avg_pool2d(x, (7, 5)) ** 2).mean()
                + F.lp_pool2d(x.abs() + 0.1, 2, 2).mean()
                + F.max_pool2d(x, 2, return_indices=True)[0].mean())

    return value_and_gradients(loss, (torch.randn(4, 16, 64, 64),), device)


@PROGRAMS.add()
def volume_and_signal_pooling(device):
    def pool(volumes, signals):
        unpooled = F.max_unpool1d(*F.max_pool1d(signals, 2, return_indices=True), 2)
        return F.max_pool3d(volumes, 2), F.avg_pool3d(volumes, 2), F.max_pool1d(signals, 3, 2), F.avg_pool1d(signals, 3, 2), unpooled

    return pure(pool, (torch.randn(2, 8, 16, 32, 32), torch.randn(4, 16, 512)), device)


@PROGRAMS.add()
def upsampling_gradient(device):
    def loss(x):
        nearest = F.interpolate(x, scale_factor=2, mode='nearest')
        centers, corners = (F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=aligned) for aligned in (False, True))
        return (nearest ** 2).mean() + (centers ** 2).mean() + (corners ** 2).mean()

    return value_and_gradients(loss, (torch.randn(2, 8, 48, 48),), device)


@PROGRAMS.add()
def bicubic_and_bilinear_resize(device):
    def resize(x):
        return F.interpolate(x, size=(96, 80), mode='bicubic', align_corners=False), F.interpolate(x, size=(30, 30), mode='bilinear', antialias=False)

    return pure(resize, (torch.randn(2, 8, 48, 48),), device)


@PROGRAMS.add()
def grid_sample_gradient(device):
    def loss(x, transforms):
        grid = F.affine_grid(transforms, (4, 8, 64, 64), align_corners=False)
        return (F.grid_sample(x, grid, align_corners=False) ** 2).mean()

    return value_and_gradients(loss, (torch.randn(4, 8, 64, 64), torch.eye(2, 3).repeat(4, 1, 1) + 0.1 * torch.randn(4, 2, 3)), device)


@PROGRAMS.add()
def unfold_and_fold_gradient(device):
    def loss(x):
        return (F.fold(F.unfold(x, 3, padding=1).tanh(), (64, 64), 3, padding=1) ** 2).mean()

    return value_and_gradients(loss, (torch.randn(2, 8, 64, 64),), device)


@PROGRAMS.add()
def image_augmentation(device):
    def augment(images, kernel):
        blurred = F.conv2d(F.pad(images, (2, 2, 2, 2), mode='reflect'), kernel.expand(3, 1, 5, 5), groups=3)
        least, most = images.amin((2, 3), keepdim=True), images.amax((2, 3), keepdim=True)
        stretched = ((images - least) / (most - least) * 255).round().to(torch.uint8)
        return blurred, images.flip(-1)[..., 4:60, 4:60].contiguous(), torch.rot90(images, 1, (2, 3)), stretched, images.quantile(0.9, dim=-1)

    return pure(augment, (torch.rand(8, 3, 64, 64), torch.rand(1, 1, 5, 5) / 12), device)
