"""Evidence about ReaxFF."""
