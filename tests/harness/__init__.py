"""What the tests stand on: running the program, filesystems, ordinary users, comparing trees."""
