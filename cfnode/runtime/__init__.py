"""State Chain logic behind one door: the executor process and the development runtime."""
