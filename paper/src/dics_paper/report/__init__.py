"""Output of a report: HTML, Markdown and plots."""
