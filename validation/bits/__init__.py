"""Drivers: have CPU and CUDA, threads, restarts the same bits?"""
