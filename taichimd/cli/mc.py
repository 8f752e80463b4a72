"""`taichimd mc`: Monte Carlo."""

from typing import Any

from taichimd.cli.given import look_at, look_for
from taichimd.cli.options import Quiet, Trust, with_options
from taichimd.sampling.settings import MCSettings
from taichimd.settings.declared import settings_of


@with_options(settings_of(MCSettings).values())
def mc(quiet: Quiet = False, trust: Trust = False, **flags: Any) -> int:
    """Sample an ensemble with Metropolis Monte Carlo; write trajectory, table, checkpoint and report.

    Ctrl-C stops with a checkpoint.
    """
    look_at(flags, settings_of(MCSettings))
    look_for([flags.get("structure")], flags.get("potential"))

    from taichimd.app.console import Console
    from taichimd.sampling.job import run_mc_job
    from taichimd.sampling.prepare import prepare_mc

    return run_mc_job(prepare_mc(flags, trust=trust), Console(quiet))
