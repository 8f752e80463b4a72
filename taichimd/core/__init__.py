"""What every part stands on and none of it knows physics."""
