"""One module per area: takes a `Source`, returns its part of the machine document. A probe never judges."""
