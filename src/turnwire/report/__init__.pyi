from turnwire.report.build import Report as Report, report as report
