"""Monte Carlo: averages, bits, speed."""
