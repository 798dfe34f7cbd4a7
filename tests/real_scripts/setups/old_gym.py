"""gym as it was before 0.26, from gymnasium: reset returns the observation, step four things, seed is a method."""
import sys
import types


class Environment:
    def __init__(self, made):
        self.made, self.first_seed = made, None
        self.action_space, self.observation_space = made.action_space, made.observation_space
        self._max_episode_steps = made.spec.max_episode_steps

    def seed(self, seed):
        self.first_seed = seed

    def reset(self):
        seed, self.first_seed = self.first_seed, None
        return self.made.reset(seed=seed)[0]

    def step(self, action):
        observation, reward, terminated, truncated, info = self.made.step(action)
        return observation, reward, terminated or truncated, info


def before(work, spec):
    import gymnasium
    gym = types.ModuleType("gym")
    gym.make = lambda name: Environment(gymnasium.make(name))
    sys.modules["gym"] = gym
