from tests.cli.running import log

__all__ = ["log"]
