"""The counters of a chip, as NVIDIA's library lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwave.errors import UnavailableError
from tailwave.profiles.counters import catalogue
from tailwave.profiles.counters.catalogue import Catalogue, find_library
from tailwave.profiles.counters.meanings import MEANINGS
from tailwave.profiles.counters.names import near, unknown
from tailwave.profiles.rules import KERNEL_RULES

needs_library = pytest.mark.skipif(
    find_library() is None, reason="nvidia-cuda-cupti is not installed"
)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library, one sentence."""
    monkeypatch.setattr(catalogue, "find_library", lambda: None)
    with pytest.raises(UnavailableError, match="pip install nvidia-cuda-cupti-cu12"):
        Catalogue()


def test_a_file_that_is_no_library_does_not_load(tmp_path: Path) -> None:
    """What the linker says is passed on."""
    path = tmp_path / "libnvperf_host.so"
    path.write_text("no library", "utf-8")
    with pytest.raises(UnavailableError, match="does not load"):
        Catalogue(path)


@pytest.mark.parametrize("folder", ["cuda_cupti", "cu13"])
def test_the_library_is_found_in_either_package(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packages for CUDA 12 and 13 put it in different places."""
    library = tmp_path / "nvidia" / folder / "lib" / "libnvperf_host.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "nvidia", raising=False)
    assert find_library() == library


@needs_library
def test_a_chip_that_is_not_listed() -> None:
    """The chips that there are, are named."""
    with pytest.raises(UnavailableError, match=r"chip 'xx'; it knows .*gh100"):
        Catalogue().names("xx")


@needs_library
@pytest.mark.parametrize("chip", ["gv100", "tu102", "ga100", "ga102", "ad102", "gh100", "gb100"])
def test_every_counter_that_a_rule_records_exists(chip: str) -> None:
    """From compute capability 7.0 to 10.0; but for the fabric, where there is none."""
    known = Catalogue().names(chip)
    lacking = {rule.CODE for rule in KERNEL_RULES if unknown(rule.METRICS, known)}
    assert lacking == (set() if chip in {"ga100", "gh100", "gb100"} else {"fabric-crossing"})


@needs_library
def test_what_was_meant_exists_and_what_was_said_does_not() -> None:
    """Invented names are on no chip; the counters given for them are on GH100."""
    known = Catalogue().names("gh100")
    assert {name for meaning in MEANINGS for name in meaning.names if name in known} == set()
    assert unknown([name for meaning in MEANINGS for name in meaning.counters], known) == ()


@needs_library
def test_near_names_come_from_the_chip() -> None:
    """A slip of the pen is found."""
    assert near("sm__cycle_active.avg", Catalogue().names("gh100"))[0] == "sm__cycles_active"
