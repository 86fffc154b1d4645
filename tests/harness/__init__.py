"""What the test runner is made of; python3's standard library only."""
