"""What a statement claims: of whom, which attribute, which value; how two claims relate."""
