"""Models of torchvision: classification, segmentation and video, inference and training."""
import functools

import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, adam, adamw, cross_entropy, infer, sgd, train

NEEDS = ('torchvision',)
PROGRAMS = Programs()

INFERENCE = {  # name: (edge of the images, number of images)
    'resnet18': (64, 4),
    'mobilenet_v3_small': (64, 4),
    'efficientnet_b0': (64, 2),
    'shufflenet_v2_x0_5': (64, 4),
    'squeezenet1_1': (96, 4),
    'regnet_y_400mf': (64, 2),
    'mnasnet0_5': (64, 4),
    'densenet121': (64, 2),
    'swin_t': (64, 2),
}
TRAINING = {  # name: (edge of the images, number of images, optimizer)
    'resnet18': (64, 4, sgd),
    'mobilenet_v2': (64, 4, sgd),
    'shufflenet_v2_x0_5': (64, 8, adam),
    'convnext_tiny': (32, 2, adamw),
    'vgg11': (32, 4, sgd),
    'alexnet': (96, 4, sgd),
}


def classifier(name):
    import torchvision
    return getattr(torchvision.models, name)(weights=None, num_classes=10)


def without_dropout(model):
    """The model with all random omissions at zero, so that results can be compared."""
    for module in model.modules():
        if isinstance(module, nn.Dropout) or type(module).__name__ == 'StochasticDepth':
            module.p = 0.0
    return model


def classify(name, edge, count, device):
    return infer(classifier(name), (torch.randn(count, 3, edge, edge),), device)


def train_classifier(name, edge, count, optimizer, device):
    inputs = torch.randn(count, 3, edge, edge), torch.randint(0, 10, (count,))
    return train(without_dropout(classifier(name)), inputs, cross_entropy, device, optimizer)


for _name, _sizes in INFERENCE.items():
    PROGRAMS.add(f'{_name}_forward')(functools.partial(classify, _name, *_sizes))
for _name, _sizes in TRAINING.items():
    PROGRAMS.add(f'{_name}_train', tolerance=2e-2)(functools.partial(train_classifier, _name, *_sizes))


@PROGRAMS.add()
def maxvit_forward(device):
    from torchvision.models.maxvit import MaxVit
    model = MaxVit(input_size=(64, 64), stem_channels=16, partition_size=2, block_channels=[16, 32], block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.0, num_classes=10)
    return infer(model, (torch.randn(2, 3, 64, 64),), device)


@PROGRAMS.add()
def lraspp_segmentation_forward(device):
    from torchvision.models import segmentation
    model = segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return infer(model, (torch.randn(1, 3, 96, 96),), device, lambda model, images: model(images)['out'])


@PROGRAMS.add()
def resnet3d_video_forward(device):
    from torchvision.models import video
    return infer(video.r3d_18(weights=None, num_classes=10), (torch.randn(1, 3, 8, 32, 32),), device)


@PROGRAMS.add(tolerance=1e-1)
def resnet18_autocast_bfloat16_train(device):
    def loss(model, images, labels):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            return F.cross_entropy(model(images).float(), labels)

    return train(classifier('resnet18'), (torch.randn(2, 3, 32, 32), torch.randint(0, 10, (2,))), loss, device, sgd)
