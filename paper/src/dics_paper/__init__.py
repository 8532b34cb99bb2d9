"""Reproduction of all tables and figures of the paper."""
