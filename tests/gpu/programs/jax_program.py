"""A small training in JAX: STEPS equal steps. Prints their number; XLA alone knows what kernels they are made of."""
import json

import jax
import jax.numpy as jnp

STEPS = 20


@jax.jit
def step(weights, x, y):
    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)
    return [w - 0.01 * g for w, g in zip(weights, jax.grad(loss)(weights))]


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = [jax.random.normal(keys[0], (256, 512)), jax.random.normal(keys[1], (512, 32))]
    x, y = jax.random.normal(keys[2], (128, 256)), jax.random.normal(keys[3], (128, 32))
    for _ in range(STEPS):
        weights = step(weights, x, y)
    jax.block_until_ready(weights)
    print(json.dumps({"steps": STEPS, "platform": jax.devices()[0].platform}))


if __name__ == "__main__":
    main()
