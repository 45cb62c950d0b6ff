"""How a plan cuts files into blocks, and how a block sees that what it reads is what was planned with."""
