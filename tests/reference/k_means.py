"""Prints the sums of squares that the test of src/systems/k_means.rs compares: those of scikit-learn's k-means (Lloyd's algorithm, version
1.9.1), which starts from the same centroids.

    pip install scikit-learn
    python tests/reference/k_means.py
"""
import numpy as np
from sklearn.cluster import KMeans

MASK = (1 << 64) - 1


def random(state):
    """SplitMix64: random numbers in [0, 1)."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) / (1 << 53)


numbers = random(7)
vectors = np.array(
    [[3.0 * (d < 3 and (at >> d) & 1) + next(numbers) for d in range(5)] for at in range(600)], dtype=np.float32
)
for k in (4, 8, 12):
    found = KMeans(k, init=vectors[:k], n_init=1, algorithm="lloyd").fit(vectors)
    best = KMeans(k, n_init=20, random_state=1).fit(vectors)
    print(k, found.inertia_, "best of 20:", best.inertia_)
