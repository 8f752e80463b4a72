"""A harmonic chain with Langevin baths at its ends, which is solved exactly."""

import numpy as np


class Chain:
    """A harmonic chain between walls with Langevin baths of four atoms at each end: k = m = k_B = a = 1.

    It is linear with Gaussian noise, so its covariance and correlations are exact: C solves the Lyapunov
    equation, and <z(t) z(0)> = exp(A t) C.
    """

    def __init__(self, n=20, masses=1.0, hot=1.2, cold=0.8):
        self.n, at, self.hot, self.cold = n, np.arange(n), hot, cold
        self.left, self.right = at < 4, at >= n - 4
        self.m = np.where(at < n // 2, 1.0, masses)
        self.g = np.where(self.left | self.right, 0.5, 0.0)
        self.k = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        a = np.block([[np.zeros((n, n)), np.eye(n)], [-self.k / self.m[:, None], -np.diag(self.g)]])
        self.values, self.vectors = np.linalg.eig(a)
        self.inverse = np.linalg.inv(self.vectors)
        heat = np.zeros(2 * n)
        heat[n:] = 2.0 * self.g * np.where(self.left, hot, np.where(self.right, cold, 0.0)) / self.m
        pair = -(self.values[:, None] + self.values[None, :])
        self.c = (self.vectors @ ((self.inverse * heat) @ self.inverse.T / pair) @ self.vectors.T).real
        work = np.zeros((n, n))
        for i in range(n - 1):
            for one in (i, i + 1):
                work[one, i + 1] -= 0.5
                work[one, i] += 0.5
        self.work = work

    def heat(self):
        """Per time from left to right."""
        warm = np.where(self.left, self.hot, self.cold) - self.m * np.diag(self.c)[self.n :]
        return (self.g * warm)[self.left].sum()

    def correlations(self, lags, interval, group):
        """K at t >= 0 and t <= 0 of a group, per length."""
        n, step = self.n, ((self.vectors * np.exp(self.values * interval)) @ self.inverse).real
        w, v = np.zeros((len(group), 2 * n)), np.zeros((len(group), 2 * n))
        w[:, :n], v[np.arange(len(group)), n + group] = self.work[group], 1.0
        x, plus, minus = self.c.copy(), [], []
        for _ in range(lags):
            plus.append(np.einsum("ai,ij,aj->", v, x, w) / len(group))
            minus.append(np.einsum("ai,ij,aj->", w, x, v) / len(group))
            x = step @ x
        return np.array(plus), np.array(minus)

    def transmission(self, w):
        """Tr[G Gl G^+ Gr] of each frequency."""
        found = []
        for one in w:
            g = np.linalg.inv(self.k - one**2 * np.diag(self.m) - 1j * one * np.diag(self.m * self.g))
            gl, gr = (np.where(s, 2 * one * self.m * self.g, 0.0) for s in (self.left, self.right))
            found.append(np.einsum("ij,j,ij,i->", g, gl, g.conj(), gr).real)
        return np.array(found)

    def flow_correlation(self, times):
        """<Q(0) Q(t)> of the heat flow through the middle, in equilibrium, by Wick's theorem."""
        n, i, j = self.n, self.n // 2 - 1, self.n // 2
        q = np.zeros((2 * n, 2 * n))
        for one in (i, j):  # Q = -(v_i + v_j) F_ij/2, F_ij = x_j - x_i
            q[n + one, j] -= 0.5
            q[n + one, i] += 0.5
        q, found = 0.5 * (q + q.T), []
        for time in times:
            c = ((self.vectors * np.exp(self.values * time)) @ self.inverse).real @ self.c
            found.append(2.0 * np.trace(q @ c @ q @ c.T))
        return np.array(found)
