"""The start of stable-baselines3's documentation: sb3.py ppo|dqn."""
import sys

from stable_baselines3 import DQN, PPO

if sys.argv[1] == "ppo":
    PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=4, device="cpu").learn(256)
else:
    DQN("MlpPolicy", "CartPole-v1", learning_starts=50, train_freq=4, device="cpu").learn(250)
