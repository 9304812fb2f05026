"""Every backend is one kind of device, opened by name."""

from __future__ import annotations

from importlib import import_module

from tailwave.gpu.devices import BACKENDS, Backend, cuda, sim

ALL: tuple[Backend, ...] = (cuda, sim)


def test_the_list_names_the_packages() -> None:
    """Each name leads to a package that is a Backend."""
    assert tuple(import_module(package) for package in BACKENDS.values()) == ALL
