"""Games in and out of SGF files."""

from gtp_engine.frontends.gtp.registry import Registry

commands = Registry()
