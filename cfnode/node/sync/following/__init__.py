"""Following the chain: announced blocks, their headers and bodies, and catching up."""
