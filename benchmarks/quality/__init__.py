"""How well we predict, next to the peers and to what was published."""
