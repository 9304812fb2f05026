"""How hard Hypothesis looks: quickly and alike each time by default, widely when asked to.

``pytest --hypothesis-profile thorough`` tries many more examples, and other ones in every run.
No profile has a deadline: a busy machine is no fault of the code.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_SLOW = (HealthCheck.too_slow,)

settings.register_profile(
    "quick", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=500, deadline=None, suppress_health_check=_SLOW)
settings.load_profile("quick")
