"""Which of several healths is the worst.

The order is that of the monitoring plug-ins (their ``max_state_alt``): what is not known is worse
than OK, for silence is no health, and better than what is known to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

from tailwave.model import Health

_FROM_BEST = (Health.OK, Health.UNKNOWN, Health.WARNING, Health.CRITICAL)


def worst(healths: Iterable[Health]) -> Health:
    """Return the worst; UNKNOWN when there is none."""
    return max(healths, key=_FROM_BEST.index, default=Health.UNKNOWN)
