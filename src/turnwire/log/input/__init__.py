"""Input: sources, compression, blocks, following, resuming, memory that is used again."""
