"""The Python driver of the code interpreter. ../driver.py starts it; docs/interpreter.md describes it."""
