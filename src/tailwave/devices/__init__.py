"""GPUs that probes can ask: real ones, and simulated ones that are asked for by name."""
