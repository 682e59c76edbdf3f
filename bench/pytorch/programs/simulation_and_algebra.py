"""Simulations in loops, transforms, linear algebra, special functions and alignments."""
import torch
from torch.nn import functional as F

from common import Programs, pure, value_and_gradients

NEEDS = ()
PROGRAMS = Programs()


@PROGRAMS.add()
def wave_equation_20_steps(device):
    def simulate(height, speed, stencil):
        for _ in range(20):
            speed = speed + 0.1 * F.conv2d(F.pad(height, (1, 1, 1, 1), mode='circular'), stencil)
            height = height + 0.1 * speed
        return height, speed

    stencil = torch.tensor([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]])[None, None]
    return pure(simulate, (torch.randn(1, 1, 128, 128), torch.zeros(1, 1, 128, 128), stencil), device)


@PROGRAMS.add()
def heat_equation_40_steps(device):
    def simulate(heat):
        for _ in range(40):
            heat = heat + 0.2 * (heat.roll(1, 0) + heat.roll(-1, 0) + heat.roll(1, 1) + heat.roll(-1, 1) - 4 * heat)
        return heat

    return pure(simulate, (torch.randn(256, 256),), device)


@PROGRAMS.add()
def gravity_10_steps(device):
    def simulate(places, speeds):
        for _ in range(10):
            offsets = places[None] - places[:, None]
            squares = (offsets ** 2).sum(-1, keepdim=True) + 0.05
            speeds = speeds + 0.001 * (offsets / squares ** 1.5).sum(1)
            places = places + 0.01 * speeds
        return places, speeds

    return pure(simulate, (torch.randn(256, 3), torch.randn(256, 3)), device)


LATTICE_X = (0, 1, 0, -1, 0, 1, -1, -1, 1)
LATTICE_Y = (0, 0, 1, 0, -1, 1, 1, -1, -1)
LATTICE_WEIGHTS = (4 / 9, *[1 / 9] * 4, *[1 / 36] * 4)


def lattice_equilibrium(density, x, y):
    parts = []
    for along_x, along_y, weight in zip(LATTICE_X, LATTICE_Y, LATTICE_WEIGHTS):
        along = along_x * x + along_y * y
        parts.append(weight * density * (1 + 3 * along + 4.5 * along ** 2 - 1.5 * (x ** 2 + y ** 2)))
    return torch.stack(parts)


@PROGRAMS.add()
def lattice_boltzmann_5_steps(device):
    def simulate(flow):
        for _ in range(5):
            flow = torch.stack([flow[i].roll((LATTICE_X[i], LATTICE_Y[i]), (0, 1)) for i in range(9)])
            density = flow.sum(0)
            x = sum(LATTICE_X[i] * flow[i] for i in range(9)) / density
            y = sum(LATTICE_Y[i] * flow[i] for i in range(9)) / density
            flow = flow - 0.6 * (flow - lattice_equilibrium(density, x, y))
        return flow

    return pure(simulate, (torch.rand(9, 96, 128) * 0.1 + torch.tensor(LATTICE_WEIGHTS)[:, None, None],), device)


@PROGRAMS.add()
def pendulums_by_runge_kutta_gradient(device):
    def loss(state, strength):
        def slope(state):
            return torch.stack([state[:, 1], -strength * state[:, 0].sin()], 1)

        for _ in range(20):
            first = slope(state)
            second = slope(state + 0.05 * first)
            third = slope(state + 0.05 * second)
            fourth = slope(state + 0.1 * third)
            state = state + 0.1 / 6 * (first + 2 * second + 2 * third + fourth)
        return (state ** 2).mean()

    return value_and_gradients(loss, (torch.randn(1000, 2), torch.randn(1000).abs()), device)


@PROGRAMS.add()
def fourier_transforms(device):
    def transform(signals, images):
        return (torch.fft.fft(signals).abs(), torch.fft.rfft2(images).real, torch.fft.irfft(torch.fft.rfft(signals)), torch.fft.fftshift(torch.fft.fft2(images).abs()))

    return pure(transform, (torch.randn(64, 1024), torch.randn(8, 64, 96)), device)


def positive_definite(size, count=4):
    factors = torch.randn(count, size, size)
    return factors @ factors.mT / size + torch.eye(size)


@PROGRAMS.add()
def cholesky_solve_gradient(device):
    def loss(matrices, right):
        factors = torch.linalg.cholesky(matrices)
        return (torch.cholesky_solve(right, factors) ** 2).mean() + 0.01 * factors.diagonal(dim1=-2, dim2=-1).log().sum()

    return value_and_gradients(loss, (positive_definite(48), torch.randn(4, 48, 8)), device)


@PROGRAMS.add()
def solve_inverse_and_determinant(device):
    def solve(matrices, right):
        return torch.linalg.solve(matrices, right), torch.linalg.inv(matrices), torch.linalg.det(matrices * 0.5)

    return pure(solve, (positive_definite(32), torch.randn(4, 32, 8)), device)


@PROGRAMS.add()
def qr_singular_values_and_eigenvalues(device):
    def decompose(general, symmetric):
        return torch.linalg.qr(general)[1].abs(), torch.linalg.svdvals(general), torch.linalg.eigvalsh(symmetric)

    return pure(decompose, (torch.randn(2, 40, 24), positive_definite(32, 2)), device)


@PROGRAMS.add()
def gaussian_process_gradient(device):
    def loss(points, values, scale):
        squares = ((points[:, None] - points) ** 2).sum(-1)
        covariance = torch.exp(-0.5 * squares / scale ** 2) + 0.1 * torch.eye(128, device=points.device)
        factor = torch.linalg.cholesky(covariance)
        solved = torch.linalg.solve_triangular(factor, values[:, None], upper=False)
        return 0.5 * (solved ** 2).sum() + factor.diagonal().log().sum()

    return value_and_gradients(loss, (torch.randn(128, 4), torch.randn(128), torch.tensor(1.0)), device)


@PROGRAMS.add()
def orthogonalized_updates(device):
    def orthogonalize(gradient):
        x = gradient / gradient.norm()
        for _ in range(5):
            square = x @ x.T
            x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
        return x

    gradients = torch.randn(128, 256), torch.randn(64, 512), torch.randn(256, 256)
    return pure(lambda *gradients: [orthogonalize(gradient) for gradient in gradients], gradients, device)


@PROGRAMS.add()
def matrix_power_and_exponential(device):
    return pure(lambda a: (torch.linalg.matrix_power(a * 0.1, 5), torch.matrix_exp(a * 0.05)), (torch.randn(4, 32, 32),), device)


@PROGRAMS.add()
def special_functions(device):
    def compute(x, y):
        positive = x.abs() + 0.1
        return (torch.special.erfinv(x.tanh() * 0.99), torch.lgamma(positive), torch.digamma(positive), torch.special.i0e(x), torch.atan2(x, y), torch.hypot(x, y),
                torch.special.logit(x.sigmoid()), torch.logaddexp(x, y), torch.special.ndtri(x.sigmoid() * 0.98 + 0.01), torch.frac(x), torch.fmod(x, y), torch.remainder(x, y))

    return pure(compute, (torch.randn(200, 300), torch.randn(200, 300)), device)


@PROGRAMS.add()
def sinkhorn_30_rounds_gradient(device):
    def loss(x, y):
        costs = ((x[:, None] - y) ** 2).sum(-1)
        rows = torch.zeros(len(x), device=x.device)
        columns = torch.zeros(len(y), device=x.device)
        for _ in range(30):
            rows = -((columns - costs) / 0.5).logsumexp(1) * 0.5
            columns = -((rows[:, None] - costs) / 0.5).logsumexp(0) * 0.5
        return (((rows[:, None] + columns - costs) / 0.5).exp() * costs).mean()

    return value_and_gradients(loss, (torch.randn(100, 3), torch.randn(100, 3)), device)


@PROGRAMS.add()
def soft_time_warping(device):
    def warp(x, y):
        costs = (x[:, :, None] - y[:, None]) ** 2
        count, rows, columns = costs.shape
        far = torch.full((count,), 1e6, device=x.device)
        above = torch.full((count, columns + 1), 1e6, device=x.device)
        above[:, 0] = 0
        for i in range(rows):
            row = [far]
            for j in range(columns):
                row.append(costs[:, i, j] - torch.logsumexp(-torch.stack([above[:, j], above[:, j + 1], row[j]], -1), -1))
            above = torch.stack(row, 1)
        return above[:, -1]

    return pure(warp, (torch.randn(8, 24), torch.randn(8, 24)), device)
