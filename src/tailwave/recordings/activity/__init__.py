"""What recordings of a GPU's activity have in common, whoever made them: their tables and names."""
