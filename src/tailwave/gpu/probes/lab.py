"""What the probes work with: all that a device is asked for, and the map of its die.

The SM ids, the latency matrix and the map are taken when first asked for, and then kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from tailwave.gpu.devices.base import (
    Buffer,
    DeviceFailedError,
    Feature,
    Launch,
    NotSupportedError,
    Words,
)
from tailwave.gpu.probes.die import Die, draw
from tailwave.gpu.probes.measure import Timer
from tailwave.model import Floats, Table

_ATTEMPTS = 5
_LINE_WORDS = 16  # an L2 line of 128 bytes
_CLUSTER_SIZES = (2, 4, 8, 16)
_CLUSTER_LAUNCHES = 40
_PATIENCE = 5  # launches in a row that join nothing new
_CLUSTER_CYCLES = 2000


class Lab(Timer):
    """One device under test."""

    def run_everywhere(self, kernel: str, block: int, *args: object) -> None:
        """Enqueue a kernel with one CTA on each SM."""
        self.run(kernel, self.sm_count, block, *args, shared=-1)

    def table(
        self,
        name: str,
        unit: str,
        columns: Sequence[object],
        rows: Mapping[int, Sequence[float | None]],
    ) -> Table:
        """Make a table of rows by their labels."""
        return Table(
            name=name,
            unit=unit,
            rows=tuple(map(str, rows)),
            columns=tuple(map(str, columns)),
            values=tuple(map(tuple, rows.values())),
            simulated=self.device.facts.simulated,
        )

    @property
    def sm_count(self) -> int:
        """SMs that work may use."""
        return self.device.facts.sm_count

    @cached_property
    def sms(self) -> tuple[int, ...]:
        """The ids of the SMs that run our work, ascending. Raises DeviceFailedError."""
        found: set[int] = set()
        with self.words(self.sm_count) as out:
            for _ in range(_ATTEMPTS):
                self.run_everywhere("smids", 32, out)
                found |= {int(smid) for smid in out.read()}
                if len(found) == self.sm_count:
                    return tuple(sorted(found))
        raise DeviceFailedError(
            f"Work reached {len(found)} SMs where the device has {self.sm_count}: "
            "other work is on it, or SM ids are not physical here (MPS)."
        )

    def mask(self, sms: Sequence[int], role: int = 1) -> Words:
        """Return a word per smid: ``role`` for the SMs named, 0 for others."""
        words = np.zeros(self.sms[-1] + 1, dtype=np.uint64)
        words[list(sms)] = role
        return words

    @cached_property
    def latencies(self) -> Floats:
        """Least cycles from each SM (row, as in ``sms``) to each of a few hundred L2 lines."""
        lines, repeats = (128, 150) if self.quick else (256, 200)
        self.warm_up()
        with self.words(lines * _LINE_WORDS) as data, self.words(lines) as out:
            rows = [self._row(sm, data, out, lines, repeats) for sm in self.sms]
        return np.array(rows, dtype=np.float64)

    def _row(self, sm: int, data: Buffer, out: Buffer, lines: int, repeats: int) -> Words:
        for _ in range(_ATTEMPTS):
            out.write(np.zeros(lines, dtype=np.uint64))
            self.run_everywhere("chase", 32, out, data, lines, repeats, sm)
            row = out.read()
            if row.all():
                return row
        raise DeviceFailedError(f"No work could be placed on SM {sm}.")

    @cached_property
    def die(self) -> Die:
        """Which SMs share a TPC, a CPC and a GPC."""
        return draw(self.sms, self._clusters(), self.latencies)

    def _clusters(self) -> dict[int, list[tuple[int, ...]]]:
        """Return, for each cluster size that runs, the SMs that clusters were seen on."""
        if Feature.CLUSTERS not in self.device.features:
            return {}
        seen: dict[int, list[tuple[int, ...]]] = {}
        for size in _CLUSTER_SIZES:
            try:
                seen[size] = sorted(self._clusters_of(size))
            except NotSupportedError:
                break  # larger ones are no easier to place
        return seen

    def _clusters_of(self, size: int) -> set[tuple[int, ...]]:
        """Launch clusters until no launch shows a new one."""
        grid = self.sm_count // size * size
        seen: set[tuple[int, ...]] = set()
        idle = 0
        with self.words(grid * 4) as out:
            launch = Launch("stamp", grid, 32, (out, _CLUSTER_CYCLES), -1, size)
            for _ in range(_CLUSTER_LAUNCHES):
                self.device.launch(self.stream, launch)
                placed = out.read()[::4].reshape(-1, size)
                new = {tuple(sorted(int(sm) for sm in row)) for row in placed} - seen
                seen |= new
                idle = 0 if new else idle + 1
                if idle == _PATIENCE:
                    break
        return seen
