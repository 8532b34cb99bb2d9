"""Parts that all estimators share."""
