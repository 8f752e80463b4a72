"""Runs that a signal stops, as Ctrl+C does, right after a sample."""

import os
import signal
from contextlib import contextmanager

from taichimd.app.live import Observations


@contextmanager
def interrupted(monkeypatch, step):
    """Within it, a run with observables is stopped at the sample of this step."""
    plain = Observations.sample_all

    def sample_all(due):
        plain(due)
        if due[0][1].step == step:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Observations, "sample_all", sample_all)
        yield
