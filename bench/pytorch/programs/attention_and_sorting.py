"""Attention, embeddings, sorting, searching, running sums and masks."""
import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, infer, pure, train, value_and_gradients

NEEDS = ()
PROGRAMS = Programs()


class Recommender(nn.Module):
    """Dense features and embedded categories, with the products of all pairs of them."""

    def __init__(self):
        super().__init__()
        self.categories = nn.ModuleList([nn.Embedding(5000, 16) for _ in range(8)])
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16))
        self.top = nn.Sequential(nn.Linear(52, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, features, choices):
        vectors = [self.bottom(features)] + [embedding(choices[:, i]).sum(1) for i, embedding in enumerate(self.categories)]
        stacked = torch.stack(vectors, 1)
        products = stacked @ stacked.transpose(1, 2)
        rows, columns = torch.tril_indices(9, 9, -1)
        return self.top(torch.cat([vectors[0], products[:, rows, columns]], 1))


@PROGRAMS.add(tolerance=1e-2)
def recommender_train(device):
    def loss(model, features, choices, clicks):
        return F.binary_cross_entropy_with_logits(model(features, choices), clicks)

    inputs = torch.randn(256, 13), torch.randint(0, 5000, (256, 8, 4)), torch.rand(256, 1).round()
    return train(Recommender(), inputs, loss, device, lambda parameters: torch.optim.SGD(parameters, lr=0.01))


@PROGRAMS.add()
def embedding_bag_forward(device):
    return infer(nn.EmbeddingBag(1000, 32, mode='mean'), (torch.randint(0, 1000, (64, 10)),), device)


@PROGRAMS.add()
def sorts_and_order_statistics(device):
    def order(x):
        return (x.sort(dim=-1, stable=True)[0], x.argsort(dim=-1, stable=True), x.topk(20, -1)[0], x.median(-1)[0], x.kthvalue(50, -1)[0], x.msort()[:5])

    return pure(order, (torch.randn(64, 2000),), device)


def boxes(count):
    corners = torch.rand(count, 2) * 50
    return torch.cat([corners, corners + 5 + torch.rand(count, 2) * 20], 1)


@PROGRAMS.add()
def suppression_of_overlapping_boxes(device):
    def overlap(starts, ends):
        return (torch.minimum(ends[:, None], ends) - torch.maximum(starts[:, None], starts)).clamp(min=0)

    def suppress(boxes, scores):
        order = scores.argsort(descending=True, stable=True)
        left, top, right, bottom = boxes[order].unbind(1)
        areas = (right - left) * (bottom - top)
        shared = overlap(left, right) * overlap(top, bottom)
        covers = (shared / (areas[:, None] + areas - shared) > 0.5).triu(1)
        keep = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
        for i in range(len(scores)):
            keep = keep & ~(covers[i] & keep[i])
        return keep, order

    return pure(suppress, (boxes(100), torch.rand(100)), device)


@PROGRAMS.add()
def histogram_and_searches(device):
    def count_and_search(x):
        counts = torch.zeros(256, dtype=torch.int64, device=x.device).scatter_add(0, x, torch.ones_like(x))
        places = torch.searchsorted(torch.arange(0, 256, 4, device=x.device), x)
        buckets = torch.bucketize(x.float(), torch.arange(0.0, 256, 8, device=x.device))
        return counts, places, buckets

    return pure(count_and_search, (torch.randint(0, 256, (50000,)),), device)


@PROGRAMS.add()
def running_sums_and_maxima(device):
    def run(x):
        return x.cumsum(-1), x.cumsum(0), x.sigmoid().cumprod(-1), x.cummax(-1)[0], x.logcumsumexp(-1), x.diff()

    return pure(run, (torch.randn(128, 1000),), device)


@PROGRAMS.add()
def running_sums_gradient(device):
    def loss(x):
        return (x.cumsum(1) ** 2).mean() + x.logcumsumexp(1).mean() + x.sigmoid().cumprod(1).mean()

    return value_and_gradients(loss, (torch.randn(32, 256),), device)


@PROGRAMS.add()
def masks_gradient(device):
    def loss(x, mask):
        kept = mask > 0
        softmax = x.masked_fill(kept, -1e9).softmax(-1).pow(2).sum()
        mean = ((x * kept).sum(-1) / (kept.sum(-1) + 1)).mean()
        return softmax + torch.where(kept, x, -x).tril().sum() + mean

    return value_and_gradients(loss, (torch.randn(16, 300, 300), torch.randint(0, 2, (16, 300, 300))), device)


def heads(length):
    """Queries, keys and values of two sequences with four heads."""
    return tuple(torch.randn(2, 4, length, 32) for _ in range(3))


@PROGRAMS.add()
def causal_attention_gradient(device):
    def loss(query, key, value):
        return (F.scaled_dot_product_attention(query, key, value, is_causal=True) ** 2).mean()

    return value_and_gradients(loss, heads(128), device)


@PROGRAMS.add()
def full_attention_gradient(device):
    def loss(query, key, value):
        return (F.scaled_dot_product_attention(query, key, value) ** 2).mean()

    return value_and_gradients(loss, heads(128), device)


@PROGRAMS.add(tolerance=1e-2)
def transformer_encoder_train(device):
    def loss(model, x):
        return (model(x) ** 2 * torch.arange(64, device=x.device)).mean()

    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True), 2)
    return train(model, (torch.randn(4, 64, 64),), loss, device)


@PROGRAMS.add()
def linear_attention_gradient(device):
    def loss(query, key, value):
        memory = torch.einsum('bhnd,bhne->bhde', key.softmax(-2), value)
        return (torch.einsum('bhnd,bhde->bhne', query.softmax(-1), memory) ** 2).mean()

    return value_and_gradients(loss, heads(512), device)


@PROGRAMS.add()
def sliding_window_attention(device):
    def windows(x):
        return F.pad(x, (0, 0, 32, 0)).unfold(1, 64, 32).transpose(-1, -2)

    def attend(query, key, value):
        scores = torch.einsum('bnwd,bnkd->bnwk', query.view(4, 16, 32, 32), windows(key))
        return (scores / 6).softmax(-1) @ windows(value)

    return pure(attend, tuple(torch.randn(4, 512, 32) for _ in range(3)), device)
