from turnwire.report.build import Report as Report
from turnwire.report.build import report as report
