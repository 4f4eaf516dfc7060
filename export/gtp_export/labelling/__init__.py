"""What distilling learns from: positions of self-play and of records, with a teacher's answers."""
