"""gym as it was before 0.26, with one environment: episodes of options["episode"] steps, one or two (discrete) actions."""
import sys
import types


def before(work, spec):
    import numpy
    source = numpy.random.RandomState(1)

    class Space:
        n, shape = 2, (1,)
        low, high = -numpy.ones(1, "float32"), numpy.ones(1, "float32")

        def sample(self):
            return source.uniform(-1, 1, 1).astype("float32")

        def seed(self, seed):
            pass

    class Environment:
        _max_episode_steps = spec["options"]["episode"]
        action_space, observation_space = Space(), types.SimpleNamespace(shape=(4,))

        def seed(self, seed):
            pass

        def reset(self):
            self.steps = 0
            return source.uniform(-1, 1, 4).astype("float32")

        def step(self, action):
            self.steps += 1
            return (source.uniform(-1, 1, 4).astype("float32"), float(source.uniform()),
                    self.steps == self._max_episode_steps, {})

        def render(self):
            pass

        def close(self):
            pass
        unwrapped = property(lambda self: self)
    gym = types.ModuleType("gym")
    gym.make = lambda name: Environment()
    sys.modules["gym"] = gym
