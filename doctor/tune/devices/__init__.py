"""Compares devices on the same work: the tuned CPU, each GPU of ROCm, each adapter of DirectML.

The search climbs a ladder of sizes on every device, in fresh processes, up to its memory; the confirmation claims.
"""
