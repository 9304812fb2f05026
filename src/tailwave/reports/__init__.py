"""What a diagnosis looks like to a person (terminal) and to a program (JSON)."""
