"""The dated tables under `rules/knowledge/`, read as typed rows. Facts with their source and date; no logic."""
