"""Training and inference loops as people write them (loops/); each says how many steps it truly made.

    scenarios.py NAME   prints {"steps": N, "evaluations": E, "inferences": I, "marks": true|false}
A scenario is a function that runs its loop over about ten iterations and returns the number of steps, or those three
numbers. Where one iteration is one step, the forward stands under a label mark:<iteration>; evaluations have no labels.
Every loop ends with work that belongs to no step of its own (loss.item(), an evaluation of a number), as real ones do.
"""
import json
import sys

from loops import SCENARIOS, UNMARKED, ends, evaluation, inference, training, updates  # noqa: F401 (each registers its own)

if __name__ == "__main__":  # workers of a loader may import this file again
    name = sys.argv[1]
    truth = SCENARIOS[name]()
    steps, evaluations, inferences = (truth, 0, 0) if isinstance(truth, int) else truth
    print(json.dumps({"steps": steps, "evaluations": evaluations, "inferences": inferences, "marks": name not in UNMARKED}))
