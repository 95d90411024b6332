"""An opened repository and what can be done to it as a whole."""
