"""Translation validation: runs PTX, Ori after every phase, and the final SASS of a compile on the same inputs."""
