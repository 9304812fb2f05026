"""The die map and the latency matrix as PNG files; needs ``pip install 'tailwave[plot]'``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailwave.errors import UnavailableError, UsageError
from tailwave.model import Session
from tailwave.reports.die import Die, Gpc, Matrix, Processor, latency_die, latency_matrix
from tailwave.reports.subject import device_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

# Perceptually even, and still in order when printed grey or seen without red and green.
_COLOURS = "viridis"
_DPI = 160
_MARGIN = 0.15  # inches around a picture
_SM, _GAP = 1.0, 0.35  # the side of an SM and the space around a TPC, in the map's own unit
_LIGHT_ABOVE = 0.55  # share of the colour scale from which dark letters read better
_NOT_MEASURED = "#cccccc"


def save_pictures(session: Session, folder: Path) -> list[Path]:
    """Write the pictures that the session has the tables for; return their paths.

    Raises UnavailableError without matplotlib, UsageError when the folder cannot be written.
    """
    written = []
    die, matrix = latency_die(session), latency_matrix(session)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if die is not None and die.values:
            written.append(_save_die(die, session, folder / "die_map.png"))
        if matrix is not None:
            written.append(_save_matrix(matrix, session, folder / "latency_matrix.png"))
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}.") from error
    return written


@contextmanager
def _picture(path: Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Open a figure of a size in inches, and write it on leaving."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise UnavailableError("pictures need matplotlib: pip install 'tailwave[plot]'.") from error
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    yield figure
    figure.savefig(path, bbox_inches="tight", pad_inches=_MARGIN)


def _save_die(die: Die, session: Session, path: Path) -> Path:
    widest = max(len(gpc.tpcs) for gpc in die.gpcs)
    size = (max(7.0, 2.4 + 0.62 * widest), max(3.0, 1.5 + 0.75 * len(die.gpcs)))
    with _picture(path, size) as figure:
        axes = figure.subplots()
        _draw_die(figure, axes, die)
        axes.set_title(_title(f"{die.what}, by GPC and TPC", session), loc="left")
    return path


def _draw_die(figure: Figure, axes: Axes, die: Die) -> None:
    from matplotlib import colormaps  # noqa: PLC0415 - as above
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415
    from matplotlib.colors import Normalize  # noqa: PLC0415

    colours, scale = colormaps[_COLOURS], Normalize(min(die.values), max(die.values))
    for row, gpc in enumerate(die.gpcs):
        _draw_gpc(axes, gpc, row, colours, scale)
    axes.set_yticks(
        [row * (2 * _SM + 2 * _GAP) + _SM for row in range(len(die.gpcs))],
        [_gpc_of(gpc, die.unit) for gpc in die.gpcs],
    )
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.autoscale_view()
    for side in axes.spines.values():
        side.set_visible(False)
    figure.colorbar(ScalarMappable(scale, colours), ax=axes, label=die.unit, pad=0.02)


def _gpc_of(gpc: Gpc, unit: str) -> str:
    """Word a GPC's size and mean."""
    values = [sm.value for sm in gpc.processors if sm.value is not None]
    mean = f"\n{np.mean(values):,.0f} {unit}" if values else ""
    return f"GPC {gpc.index}, {len(gpc.processors)} SMs{mean}"


def _draw_gpc(axes: Axes, gpc: Gpc, row: int, colours: Colormap, scale: Normalize) -> None:
    """Draw a GPC as a row of TPCs, each a column of SMs with their numbers."""
    top = row * (2 * _SM + 2 * _GAP)
    for column, tpc in enumerate(gpc.tpcs):
        left = column * (1.6 * _SM + _GAP)
        for place, processor in enumerate(tpc):
            _draw_sm(axes, processor, (left, top + place * _SM), colours, scale)


def _draw_sm(
    axes: Axes,
    processor: Processor,
    corner: tuple[float, float],
    colours: Colormap,
    scale: Normalize,
) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - as above

    share = None if processor.value is None else float(scale(processor.value))
    face = _NOT_MEASURED if share is None else colours(share)
    axes.add_patch(Rectangle(corner, 1.6 * _SM, _SM, facecolor=face, edgecolor="white"))
    ink = "black" if share is None or share > _LIGHT_ABOVE else "white"
    x, y = corner
    axes.text(
        x + 0.8 * _SM, y + _SM / 2, str(processor.sm), ha="center", va="center", size=6, color=ink
    )


def _save_matrix(matrix: Matrix, session: Session, path: Path) -> Path:
    with _picture(path, (9.0, 6.5)) as figure:
        axes = figure.subplots()
        image = axes.imshow(matrix.values, aspect="auto", interpolation="nearest", cmap=_COLOURS)
        starts = _gpc_starts(matrix)
        for start in starts[1:-1]:
            axes.axhline(start - 0.5, color="white", linewidth=0.8)
        axes.set_yticks(
            [(start + end - 1) / 2 for start, end in pairwise(starts)],
            [_gpc_label(matrix, start) for start in starts[:-1]],
        )
        axes.set_xlabel("line of memory (lines that resemble each other stand together)")
        axes.set_title(_title("L2 latency from each SM to each line", session), loc="left")
        figure.colorbar(image, ax=axes, label=matrix.unit)
    return path


def _gpc_starts(matrix: Matrix) -> list[int]:
    """Return the row at which each GPC begins, and the number of rows."""
    changes = np.flatnonzero(np.diff(matrix.gpcs)) + 1
    return [0, *(int(row) for row in changes), len(matrix.gpcs)]


def _gpc_label(matrix: Matrix, row: int) -> str:
    return f"GPC {matrix.gpcs[row]}" if matrix.gpcs[row] >= 0 else "SMs"


def _title(what: str, session: Session) -> str:
    return f"{device_name(session.device)}: {what}"
