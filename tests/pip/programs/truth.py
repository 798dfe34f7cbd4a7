"""What a program of this folder knows of itself: counted by its own callbacks and timed by its own clock."""
import json


def tell(**known):
    """Prints it as the line that test_libraries.py reads. steps: of training, as its author counts them. evaluations:
    batches of them. seconds: of the whole loop; what `known` says of time is not compared with a run without tprof."""
    print("truth " + json.dumps(known), flush=True)
