"""How a report looks: HTML, Markdown and plots."""
