"""What the API catalog is made of: packages are read, never imported."""
