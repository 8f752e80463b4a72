"""One system on several GPUs of one host."""
