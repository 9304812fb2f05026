"""Runs a recording again in virtual time under a changed rule."""
