"""The files that operators copy: units, images, manifests, packages, and what the node does for them."""
