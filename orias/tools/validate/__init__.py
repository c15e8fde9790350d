"""Translation validation: one compile checked by running PTX, Ori after every phase, and the final SASS on the same inputs."""
