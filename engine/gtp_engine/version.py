"""The version, apart from the package so that its parts can name it."""

__version__ = "0.15.0"
