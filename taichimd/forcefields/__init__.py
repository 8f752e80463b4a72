"""Force fields: small functions of pairs, triplets and bond orders, and the tables of their parameters."""
