"""Gives a stream that the program has named SMs of its own."""

from __future__ import annotations

import importlib
from types import ModuleType

from tailwave.cures.hook.actions.base import Action


class Partition(Action):
    """Plans ``sms`` SMs for the stream ``stream``; at the end a kernel proves which it has."""

    IDLE = "the program did not ask for a stream of that name: use tailwave.stream(name)"

    def on_torch(self, torch: ModuleType) -> None:
        """Plan it, before the program can ask for the stream."""
        del torch
        self._name = str(self.parameters["stream"])
        self._named = importlib.import_module("tailwave.cures.library.named")
        self._named.assign(self._name, sms=int(str(self.parameters["sms"])))

    def forget(self) -> None:
        """Leave the parent's streams to it: a forked child cannot use them."""
        super().forget()
        self._ready = False

    def seen(self) -> dict[str, object]:
        """Return what the stream was given, and on how many SMs its proof ran."""
        given = self._named.given().get(self._name)
        if given is None:
            return {}
        if given.why_not:
            self.refuse(given.why_not)
        self.applied = given.own and not given.why_not
        return {"sms": given.sms, "own": given.own, **self.counts}

    def prove(self) -> None:
        """Record the ids of the SMs that the stream's work runs on."""
        if self._name in self._named.given():
            self.counts["proven"] = len(self._named.prove(self._name))
