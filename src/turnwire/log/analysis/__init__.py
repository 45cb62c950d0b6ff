"""What is seen over many records: figures, and which record answers which."""
