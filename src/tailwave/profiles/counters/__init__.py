"""Names of hardware counters: which a chip has, which are near, and what was meant by some."""
