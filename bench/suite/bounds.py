"""How far a result may be from the built-in backend's.

Floats: |got - want| <= FACTOR * factor * eps(dtype) * (|want| + rms(want)), element by element, where rms is over the finite elements of the
array, and factor is the class's and the program's (programs/*.py: FACTOR, and factor= of an entry): both backends round, sum in
another order and approximate functions, so that neither is exact. NaN and infinities must stand at the same places. Complex numbers likewise, by
their magnitude. A result narrower than the arguments' type is judged by its own eps. Integers and booleans are equal, but for the share of an entry.
"""
import ml_dtypes
import numpy as np

FACTOR = 64
MOVES, SPREAD = 4, 16


def epsilon(dtype):
    if np.issubdtype(dtype, np.complexfloating):
        return float(np.finfo(np.zeros(0, dtype).real.dtype).eps)
    return float(ml_dtypes.finfo(dtype).eps)


def is_inexact(dtype):
    return np.issubdtype(dtype, np.inexact) or dtype.kind == 'V' or dtype.name.startswith(('bfloat', 'float'))


def compare(got, want, dtype, factor, share):
    """'' when `got` agrees with `want`, else what differs. Arrays hold values of `dtype`, floats of other than NumPy's types widened to float32."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if got.shape != want.shape:
        return f'shape {got.shape}, wanted {want.shape}'
    if not is_inexact(dtype):
        differs = got != want
        if differs.mean() <= share if differs.size else True:
            return ''
        at = np.unravel_index(np.argmax(differs), differs.shape)
        return f'{int(differs.sum())} of {differs.size} differ, first at {[int(i) for i in at]}: {got[at]}, wanted {want[at]}'
    finite = np.isfinite(want)
    with np.errstate(all='ignore'):
        unlike = ~finite & ~((got == want) | (np.isnan(got) & np.isnan(want))) | (finite & ~np.isfinite(got))
        magnitude = np.abs(np.where(finite, want, 0)).astype(np.float64)
        rms = float(np.sqrt(np.mean(magnitude * magnitude))) if magnitude.size else 0.0
        bound = FACTOR * factor * epsilon(dtype) * (magnitude + rms)
        error = np.abs(np.where(finite, got, 0).astype(np.complex128) - np.where(finite, want, 0).astype(np.complex128))
        wrong = unlike | (finite & ~(error <= bound))
    if not wrong.any() or wrong.mean() <= share:
        return ''
    over = np.where(unlike, np.inf, error / np.where(bound > 0, bound, np.finfo(np.float64).tiny))
    over = np.where(wrong, over, 0)
    at = np.unravel_index(int(np.argmax(over)), over.shape)
    return (f'{int(wrong.sum())} of {wrong.size} differ, worst by {over[at]:.3g} bounds at {[int(i) for i in at]}: '
            f'{got[at]}, wanted {want[at]}')


def _distances(a, b):
    """How far the elements are apart, in ascending order; infinite where only one of two is a number."""
    with np.errstate(all='ignore'):
        alike = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.abs(a.astype(np.complex128) - b.astype(np.complex128))
    return np.sort(np.where(alike, 0, np.where(np.isfinite(apart), apart, np.inf)), axis=None)


def within_moves(got, want, moved, dtype, factor):
    """Whether `got` is no further from `want` than what the same backend computed from other arguments: `moved` are its results for MOVES sets of them, each number
    an ulp or none beside where it was. The elements' distances are compared in order, since a decision that hangs on a rounding falls elsewhere each time: the
    n-th largest is at most SPREAD times the n-th largest of one of `moved`, or as small as compare() lets it be."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if any(x.shape != got.shape for x in (want, *moved)):
        return False
    near = 0.0
    if is_inexact(dtype):
        finite = np.abs(want[np.isfinite(want)]).astype(np.float64)
        near = FACTOR * factor * epsilon(dtype) * float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0
        ours, theirs = _distances(got, want), [_distances(x, want) for x in moved]
    else:  # Of integers only the number of those that differ says something.
        ours, theirs = (got != want).sum(), [(x != want).sum() for x in moved]
    return bool(np.all(ours <= np.maximum(near, SPREAD * np.max(theirs, axis=0))))
