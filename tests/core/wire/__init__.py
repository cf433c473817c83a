"""Tests of messages between peers."""
