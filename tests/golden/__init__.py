"""Results of 50,000 generated logs and of all vectors, kept to compare those of changed code with."""
