"""Every input of an instruction: our code in the simulator, and our folder, against C on the host."""
