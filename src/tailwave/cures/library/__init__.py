"""What a program uses of tailwave itself: one file a mechanism, each undone when it is left."""
