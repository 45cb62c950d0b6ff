"""One self-contained page about a log: volume, who talks to whom, conversations, latencies, rejects, tokens."""

from turnwire.report.build import Report, report

__all__ = ["Report", "report"]
