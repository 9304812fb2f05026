"""Hardware counters of a kernel become findings."""
