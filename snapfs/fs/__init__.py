"""The live filesystem: everything that is only true of Linux and of directories as they are now."""
