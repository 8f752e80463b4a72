"""What a user meets every day, tried as commands: does the record hold what ran, and is nothing silent?"""
