"""Other systems' HTTP interfaces, on the same data: AtomicMemory and DeerFlow."""
