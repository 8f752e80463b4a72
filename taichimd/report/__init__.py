"""Pages for readers: self-contained HTML of what runs and checks have found."""
