"""What lies beside the frames of videos: fields, lists, constants, labels."""
