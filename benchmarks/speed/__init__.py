"""How long we take and how much memory, next to the peers, in the same run."""
