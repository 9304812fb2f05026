"""What is said of the profiles as a whole: the GPUs, what nothing exercises, what is left out."""

from __future__ import annotations

from collections.abc import Sequence

from tailwave.model import DeviceInfo, KernelDiagnosis, KernelProfiles

_REST = (
    "A details page leaves out most counters. Those that answer the open questions are in its "
    "report: give the report itself, or its raw page (ncu --import REPORT --csv --page raw > "
    "raw.csv). Where no report was kept, make one: ncu --set full -o REPORT PROGRAM."
)


def notes_on(
    files: Sequence[KernelProfiles], kernels: Sequence[KernelDiagnosis]
) -> tuple[str, ...]:
    """Return the sentences on kernels that were diagnosed from these files."""
    return (*_several_chips(kernels), *_unused(kernels), *_left_out(files, kernels))


def _several_chips(kernels: Sequence[KernelDiagnosis]) -> tuple[str, ...]:
    """Say so where kernels ran on different GPUs, for the report heads with one device."""
    found: list[DeviceInfo] = []
    for device in (kernel.device for kernel in kernels if kernel.device):
        if all(_differ(device, other) for other in found):
            found.append(device)
    if len(found) < 2:  # noqa: PLR2004 - more than one
        return ()
    return (f"The kernels ran on different GPUs: {'; '.join(one.words for one in found)}.",)


def _differ(one: DeviceInfo, other: DeviceInfo) -> bool:
    """Tell two kinds of GPU apart by what is known of both; a page does not know the name."""
    pairs = ((one.capability, other.capability), (one.sm_count, other.sm_count))
    return any(first and second and first != second for first, second in pairs)


def _unused(kernels: Sequence[KernelDiagnosis]) -> tuple[str, ...]:
    """Say what none of the kernels exercises: of that a profile of them tells nothing."""
    each = [{text.partition(" (")[0]: None for text in kernel.absent} for kernel in kernels]
    none = [name for name in each[0] if all(name in one for one in each)] if each else []
    if not none:
        return ()
    listed = " or ".join(filter(None, (", ".join(none[:-1]), none[-1])))
    return (f"No kernel here exercises {listed}: the counters say nothing of that.",)


def _left_out(
    files: Sequence[KernelProfiles], kernels: Sequence[KernelDiagnosis]
) -> tuple[str, ...]:
    """Say how to get what a details page leaves out, where that leaves a question open."""
    has_details = any(file.profiles and "details" in file.kind for file in files)
    if has_details and any(one.unanswered for one in kernels):
        return (_REST,)
    return ()
