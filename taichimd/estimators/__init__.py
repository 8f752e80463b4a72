"""Estimators on time series and structures, with error bars: NumPy only, no engine, nothing of the device."""
