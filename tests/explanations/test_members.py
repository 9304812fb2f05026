"""What tailwave's own members say of themselves."""

from __future__ import annotations

from tailwave.explanations.members import counters, figures, findings, links


def test_every_figure_is_told_by_its_probe() -> None:
    """Also those that the docstring names by their last part only."""
    told = {figure.name: figure.sections for figure in figures()}
    assert [name for name, sections in told.items() if not sections] == []
    (gpc,) = told["fabric.speedup_gpc"]
    assert gpc.text[0].startswith("fabric.speedup_tpc, _gpc, _spread, _chip: bandwidth")


def test_a_headline_figure_says_which_way_is_better() -> None:
    """And what it decides."""
    node = next(figure for figure in figures() if figure.name == "launch.graph_node")
    assert node.claim == (
        "a node of a CUDA graph. Less is better. It decides how long a chain of small kernels "
        "takes as a graph."
    )


def test_a_finding_of_kernels_leads_to_its_counters() -> None:
    """What only a recording shows does not."""
    commands = {finding.name: finding.commands for finding in findings()}
    assert commands["bank-conflict"] == (
        "tailwave diagnose FILE",
        "tailwave metrics bank-conflict",
    )
    assert commands["launch-bound"] == ("tailwave diagnose FILE",)


def test_a_counter_that_no_chip_has_names_what_to_record() -> None:
    """The name from elsewhere, what is right, and the counters that exist."""
    stall = next(one for one in counters() if one.name == "sms__warps_launched")
    assert stall.claim == "exists on no chip: the unit is called sm."
    assert stall.sections[0].text == ("sm__warps_launched.sum",)


def test_a_link_leads_to_its_probes() -> None:
    """One command runs all that it looks at."""
    issue = next(link for link in links() if link.name == "issue")
    assert issue.see == ("issue", "banks")
    assert issue.commands == ("tailwave check --only issue --only banks",)
