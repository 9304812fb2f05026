"""A finding becomes a gain that is proven, or rolled back."""
