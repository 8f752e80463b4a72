"""Time stepping on the device."""
