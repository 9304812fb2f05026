"""What a Timeline says by itself: steps, host lanes, residency, gaps and who caused them."""
