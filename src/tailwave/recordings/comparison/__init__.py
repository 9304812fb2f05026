"""Two recordings of the same work: what differs in a step, divided by cause."""
