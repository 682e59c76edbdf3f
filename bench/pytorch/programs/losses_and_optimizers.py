"""Loss functions with their gradients, and one network trained by each optimizer of torch.optim."""
import functools

import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, adam, adamw, adamw_foreach, cross_entropy, sgd, train, value_and_gradients

NEEDS = ()
PROGRAMS = Programs()

OPTIMIZERS = {
    'sgd': sgd,
    'adam': adam,
    'adamw': adamw,
    'adamw_foreach': adamw_foreach,
    'rmsprop': functools.partial(torch.optim.RMSprop, lr=1e-3),
    'adagrad': functools.partial(torch.optim.Adagrad, lr=1e-2),
    'nadam': functools.partial(torch.optim.NAdam, lr=1e-3),
    'adamax': functools.partial(torch.optim.Adamax, lr=1e-3),
    'radam': functools.partial(torch.optim.RAdam, lr=1e-3),
    'adadelta': torch.optim.Adadelta,
}


def train_by(optimizer, device):
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256), nn.Tanh(), nn.Linear(256, 10))
    return train(model, (torch.randn(64, 256), torch.randint(0, 10, (64,))), cross_entropy, device, optimizer)


for _name, _optimizer in OPTIMIZERS.items():
    PROGRAMS.add(f'perceptron_by_{_name}', tolerance=1e-2)(functools.partial(train_by, _optimizer))


@PROGRAMS.add()
def nine_losses_gradient(device):
    def loss(x, y, labels):
        return (F.smooth_l1_loss(x, y)
                + F.huber_loss(x, y, delta=0.5)
                + F.binary_cross_entropy_with_logits(x, y.sigmoid())
                + F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')
                + F.cross_entropy(x, labels, label_smoothing=0.1)
                + F.multi_margin_loss(x, labels)
                + F.cosine_embedding_loss(x, y, torch.ones(256, device=x.device))
                + F.gaussian_nll_loss(x, y.detach(), y.exp() + 0.1)
                + F.triplet_margin_loss(x, y, x.flip(0)))

    return value_and_gradients(loss, (torch.randn(256, 100), torch.randn(256, 100), torch.randint(0, 100, (256,))), device)


@PROGRAMS.add()
def ctc_loss_gradient(device):
    def loss(x, labels):
        return F.ctc_loss(x.log_softmax(-1), labels, torch.full((4,), 40), torch.full((4,), 10))

    return value_and_gradients(loss, (torch.randn(40, 4, 20), torch.randint(1, 20, (4, 10))), device)


@PROGRAMS.add()
def focal_and_dice_losses_gradient(device):
    def loss(x, mask):
        chance = x.sigmoid()
        entropy = F.binary_cross_entropy_with_logits(x, mask.detach(), reduction='none')
        right = chance * mask + (1 - chance) * (1 - mask)
        overlap = (2 * (chance * mask).sum((1, 2, 3)) + 1) / ((chance + mask).sum((1, 2, 3)) + 1)
        return (entropy * (1 - right) ** 2).mean() + 1 - overlap.mean()

    return value_and_gradients(loss, (torch.randn(4, 1, 128, 128), torch.rand(4, 1, 128, 128).round()), device)


@PROGRAMS.add()
def contrastive_loss_gradient(device):
    def loss(a, b):
        similarity = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T
        return F.cross_entropy(similarity / 0.07, torch.arange(256, device=a.device))

    return value_and_gradients(loss, (torch.randn(256, 128), torch.randn(256, 128)), device)
