"""Graph networks, networks of points, recurrent networks and state spaces."""
import functools

import torch
from torch import nn
from torch.nn import functional as F

from common import Programs, adam, cross_entropy, mean_squared_error, pure, train, value_and_gradients

NEEDS = ()
PROGRAMS = Programs()


class GraphConvolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.second = nn.Linear(64, 64)
        self.last = nn.Linear(64, 7)

    def forward(self, nodes, sources, targets):
        def gather(values):
            return torch.zeros_like(values).index_add(0, targets, values[sources])

        nodes = gather(F.relu(self.first(nodes)))
        return self.last(gather(F.relu(self.second(nodes))))


@PROGRAMS.add(tolerance=1e-2)
def graph_convolutions_train(device):
    inputs = torch.randn(2000, 32), torch.randint(0, 2000, (10000,)), torch.randint(0, 2000, (10000,)), torch.randint(0, 7, (2000,))
    return train(GraphConvolutions(), inputs, lambda model, nodes, sources, targets, labels: F.cross_entropy(model(nodes, sources, targets) * 0.1, labels), device)


class GraphAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.Linear(32, 64)
        self.query = nn.Parameter(torch.randn(64) * 0.1)
        self.key = nn.Parameter(torch.randn(64) * 0.1)

    def forward(self, nodes, sources, targets):
        count = nodes.shape[0]
        values = self.weights(nodes)
        scores = F.leaky_relu(values[sources] @ self.query + values[targets] @ self.key)
        largest = torch.full((count,), -1e9, device=nodes.device).scatter_reduce(0, targets, scores, 'amax')
        shares = (scores - largest[targets].detach()).exp()
        total = torch.zeros(count, device=nodes.device).scatter_add(0, targets, shares)
        shares = shares / (total[targets] + 1e-9)
        return torch.zeros_like(values).index_add(0, targets, shares[:, None] * values[sources])


@PROGRAMS.add(tolerance=1e-2)
def graph_attention_train(device):
    inputs = torch.randn(1000, 32), torch.randint(0, 1000, (8000,)), torch.randint(0, 1000, (8000,)), torch.randn(1000, 64)
    return train(GraphAttention(), inputs, lambda model, nodes, sources, targets, wanted: F.mse_loss(model(nodes, sources, targets), wanted), device)


@PROGRAMS.add()
def scatter_reductions(device):
    def reductions(values, segments):
        places = segments[:, None].expand(-1, 16)
        start = torch.zeros(500, 16, device=values.device)
        return [start.scatter_reduce(0, places, values, kind, include_self=False) for kind in ('sum', 'mean', 'amax', 'amin')]

    return pure(reductions, (torch.randn(5000, 16), torch.randint(0, 500, (5000,))), device)


class NearestPoints(nn.Module):
    def __init__(self):
        super().__init__()
        self.pairs = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 64))
        self.classes = nn.Linear(64, 10)

    def forward(self, points):
        distances = torch.cdist(points, points, compute_mode='donot_use_mm_for_euclid_dist').detach()
        nearest = distances.topk(8, largest=False).indices[..., None].expand(-1, -1, -1, 3)
        neighbors = torch.gather(points[:, None].expand(-1, points.shape[1], -1, -1), 2, nearest)
        centers = points[:, :, None]
        pairs = self.pairs(torch.cat([neighbors - centers, centers.expand(-1, -1, 8, -1)], -1))
        return self.classes(pairs.amax(2).amax(1))


@PROGRAMS.add(tolerance=1e-2)
def nearest_points_train(device):
    return train(NearestPoints(), (torch.randn(4, 128, 3), torch.randint(0, 10, (4,))), cross_entropy, device)


class Recurrent(nn.Module):
    def __init__(self, kind, layers, bidirectional):
        super().__init__()
        self.embedding = nn.Embedding(200, 64)
        self.recurrent = kind(64, 64, layers, batch_first=True, bidirectional=bidirectional)
        self.words = nn.Linear(128 if bidirectional else 64, 200)

    def forward(self, words):
        return self.words(self.recurrent(self.embedding(words))[0])


def train_recurrent(kind, layers, bidirectional, length, device):
    def loss(model, words, labels):
        return F.cross_entropy(model(words).flatten(0, 1), labels.flatten())

    return train(Recurrent(kind, layers, bidirectional), (torch.randint(0, 200, (8, length)), torch.randint(0, 200, (8, length))), loss, device, adam)


PROGRAMS.add('lstm_2_layers_train', tolerance=1e-2)(functools.partial(train_recurrent, nn.LSTM, 2, False, 24))
PROGRAMS.add('gru_bidirectional_train', tolerance=1e-2)(functools.partial(train_recurrent, nn.GRU, 1, True, 24))
PROGRAMS.add('elman_train', tolerance=1e-2)(functools.partial(train_recurrent, nn.RNN, 1, False, 32))


class LongConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(32, 256) * 0.05)
        self.enter = nn.Linear(8, 32)
        self.leave = nn.Linear(32, 8)

    def forward(self, sequence):
        channels = self.enter(sequence).transpose(1, 2)
        spectrum = torch.fft.rfft(channels, n=512) * torch.fft.rfft(self.kernel, n=512)
        channels = torch.fft.irfft(spectrum, n=512)[..., :256]
        return self.leave(F.gelu(channels).transpose(1, 2))


@PROGRAMS.add(tolerance=1e-2)
def long_convolution_by_fft_train(device):
    return train(LongConvolution(), (torch.randn(4, 256, 8), torch.randn(4, 256, 8)), mean_squared_error, device)


@PROGRAMS.add(tolerance=1e-2)
def selective_scan_gradient(device):
    def scan(decays, values):
        decays = decays.sigmoid()
        length = decays.shape[1]
        distance = 1
        while distance < length:
            earlier_decays = F.pad(decays, (0, 0, distance, 0), value=1.0)[:, :length]
            earlier_values = F.pad(values, (0, 0, distance, 0))[:, :length]
            values = values + decays * earlier_values
            decays = decays * earlier_decays
            distance *= 2
        return (values ** 2).mean()

    return value_and_gradients(scan, (torch.randn(4, 256, 64), torch.randn(4, 256, 64)), device)
