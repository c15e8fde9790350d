"""What a kernel costs: its code, and its runs in the simulator, played through the machine model."""
