"""Runs a program under the recorder, and makes timelines of the raw records that it left."""
