"""Tells whether a command line that is printed can be typed."""

from __future__ import annotations

import shlex

import click

from tailwave.cli import group


def refusal(line: str) -> str:
    """Return why the command line refuses a command before it runs; "" where it takes it."""
    program, name, *arguments = shlex.split(line)
    command = group.get_command(click.Context(group), name)
    if program != "tailwave" or command is None:
        return f"{line}: no such command"
    try:
        command.make_context(name, arguments)
    except click.exceptions.Exit:  # --list and its like have printed, and that is all they do
        return ""
    except click.ClickException as error:
        return f"{line}: {error.format_message()}"
    return ""
