"""HAMi's library is seen wherever it is put."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwave.cures.hami import shares_the_gpu

if TYPE_CHECKING:
    from pathlib import Path


def test_hami_is_seen_wherever_it_is_put(tmp_path: Path) -> None:
    """In LD_PRELOAD, in ld.so.preload, in this process's maps; a file may be missing."""
    maps = tmp_path / "maps"
    places = (tmp_path / "missing", maps)
    assert not shares_the_gpu({"LD_PRELOAD": "/usr/lib/libjemalloc.so"}, places)
    preloaded = {"LD_PRELOAD": "/usr/lib/libjemalloc.so:/usr/local/vgpu/libvgpu.so"}
    assert shares_the_gpu(preloaded, places)
    maps.write_text("7f00-7f01 r-xp 0 08:01 1 /usr/local/vgpu/libvgpu.so\n", "utf-8")
    assert shares_the_gpu({}, places)
