"""Who is near whom: the cell as the lists see it, cells by counting sort, Verlet lists."""
