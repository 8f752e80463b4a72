"""`taichimd analyze`: a trajectory in; tables, pictures and a summary out."""
