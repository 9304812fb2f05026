"""What an action is: a change that the hook makes inside the program, and the evidence of it.

The actions themselves stand with their cures, in ``tailwave.cures.catalogue``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import ClassVar

from tailwave.cures.hook.guard import Guard


class Action:
    """One cure's part inside the program. By itself it does nothing.

    ``applied`` is set once the change is in force; ``counts`` is what was seen of it. A reason not
    to change something goes to `refuse`: the first one is reported.
    """

    IDLE: ClassVar[str] = "the program gave no occasion for it"

    def __init__(self, parameters: Mapping[str, object]) -> None:
        """Take the parameters of the plan; raises KeyError or ValueError for wrong ones."""
        self.parameters = parameters
        self.applied = False
        self.counts: Counter[str] = Counter()
        self._guard = Guard()
        self._ready = False

    def on_torch(self, torch: ModuleType) -> None:
        """Act once the program has imported torch, before it uses it."""

    def on_cuda(self, torch: ModuleType) -> None:
        """Act once torch has started CUDA, in the thread that made it do so."""

    def prove(self) -> None:
        """Gather evidence that takes the GPU's time: called when the process ends."""

    def seen(self) -> dict[str, object]:
        """Return the evidence, read back as late as possible."""
        return dict(self.counts)

    def refuse(self, why: str) -> None:
        """Leave something as it is, for a reason."""
        self._guard.note(why)

    def attempt(self, call: Callable[[], None]) -> None:
        """Do something of this action; if it fails, the reason is why it is not applied."""
        with self._guard:
            call()

    def torch_arrived(self, torch: ModuleType) -> None:
        """Act; what comes later comes only if that went well."""
        with self._guard:
            self.on_torch(torch)
            self._ready = True

    def cuda_came_up(self, torch: ModuleType) -> None:
        """Act once more."""
        if self._ready:
            self.attempt(lambda: self.on_cuda(torch))

    def ending(self) -> None:
        """Gather the last evidence."""
        if self._ready:
            self.attempt(self.prove)

    def forget(self) -> None:
        """Start anew in a child that the process was copied into: what was seen is its parent's."""
        self.applied = False
        self.counts.clear()

    def document(self) -> dict[str, object]:
        """Give what the report says of the action."""
        evidence: dict[str, object] = {}
        if self._ready:
            with self._guard:
                evidence = self.seen()
        why_not = self._guard.error or ("" if self.applied else self.IDLE)
        return {"applied": self.applied, "seen": evidence, "why_not": why_not}
