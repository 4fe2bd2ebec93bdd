"""The tuning variables that the target inherits. What they do here is for `derive` to say."""

from __future__ import annotations

from doctor.knowledge.env_vars import is_tuning_name
from doctor.probes.found import Found, unknown
from doctor.sources.base import Missing, Source


def probe(source: Source) -> Found:
    """The area `env` of the document: names of the allow-list only, whatever a recording may hold."""
    env = source.environment()
    if isinstance(env, Missing):
        return Found(unknowns=(unknown("env", env),))
    return Found({"env": {name: env[name] for name in sorted(env) if is_tuning_name(name)}})
